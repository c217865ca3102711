"""The endpoint of a running stream: ``/metrics`` for Prometheus and ``/health``; off unless it is asked for, on loopback unless told otherwise."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sfumato.engine.stream.progress import StreamProgress
from sfumato.errors import UnreachableError, UsageError

_LOOPBACK = "127.0.0.1"
_LARGEST_PORT = 65535
_PATIENCE = 5.0


def address_of(text: str) -> tuple[str, int]:
    """Return host and port of what was asked for.

    >>> address_of("9400"), address_of("0.0.0.0:9400"), address_of("[::1]:9400")
    (('127.0.0.1', 9400), ('0.0.0.0', 9400), ('::1', 9400))
    """
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > _LARGEST_PORT:
        raise UsageError("the address of the metrics has no port from 0 to 65535", code="stream-address", hint="--metrics 9400, or 127.0.0.1:9400")
    return host.removeprefix("[").removesuffix("]") or _LOOPBACK, int(port)


@contextmanager
def served(address: str | None, progress: StreamProgress) -> Iterator[int | None]:
    """Answer requests while the stream runs, and yield the port; nothing is served where no address was asked for."""
    if address is None:
        yield None
        return
    server = _server(*address_of(address), progress)
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of who goes away in the middle of a request: standard error is for the stream."""


def _server(host: str, port: int, progress: StreamProgress) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        # somebody who connects and says nothing does not keep a thread for ever
        timeout = _PATIENCE

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/metrics":
                self._answer(200, "text/plain; version=0.0.4; charset=utf-8", progress.prometheus())
            elif path == "/health":
                health = progress.health
                self._answer(503 if health.is_stalled else 200, "text/plain; charset=utf-8", f"{health.words()}\n")
            else:
                self._answer(404, "text/plain; charset=utf-8", "there are /metrics and /health\n")

        def do_HEAD(self) -> None:
            self.do_GET()

        def _answer(self, status: int, kind: str, text: str) -> None:
            content = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Say nothing: standard error is for the stream."""

    try:
        server = _Server((host, port), Handler)
    except (OSError, OverflowError):
        hint = "another port with --metrics, or leave it out"
        raise UnreachableError(f"metrics cannot be served at {host}:{port}", code="stream-address", hint=hint) from None
    return server
