"""Metrics and health of a running stream."""

from __future__ import annotations

import socket
import struct
import time
import urllib.error
import urllib.request
from types import SimpleNamespace
from typing import Any

import pytest

from sfumato.engine.stream.endpoint import served
from sfumato.engine.stream.health import Health
from sfumato.engine.stream.progress import StreamProgress, ViewProgress
from sfumato.errors import SfumatoError


def progress() -> StreamProgress:
    made = StreamProgress(0)
    made.add(7, {'re"s': ViewProgress({"released": 5, "held": 2}, {"z": 20.0, "p_kanon": 0.75})})
    return made


def asked(port: int | None, path: str, method: str = "GET") -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method), timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_metrics_are_told_in_the_form_of_prometheus() -> None:
    with served("0", progress()) as port:
        status, text = asked(port, "/metrics")
    assert status == 200
    assert text.splitlines() == [
        "# TYPE sfumato_stream_records_total counter",
        "sfumato_stream_records_total 7",
        "# TYPE sfumato_stream_view_records gauge",
        'sfumato_stream_view_records{view="re\\"s",became="released"} 5',
        'sfumato_stream_view_records{view="re\\"s",became="held"} 2',
        "# TYPE sfumato_stream_view_measure gauge",
        'sfumato_stream_view_measure{view="re\\"s",measure="z"} 20.0',
        'sfumato_stream_view_measure{view="re\\"s",measure="p_kanon"} 0.75',
        "# TYPE sfumato_stream_unfinished_bytes gauge",
        "sfumato_stream_unfinished_bytes 0",
        "# TYPE sfumato_stream_unfinished_seconds gauge",
        "sfumato_stream_unfinished_seconds 0.0",
    ]


def test_health_says_whether_the_stream_goes_on() -> None:
    made = progress()
    with served("127.0.0.1:0", made) as port:
        assert asked(port, "/health") == (200, "ok\n")
        made.state = "stopping"
        assert asked(port, "/health") == (503, "stalled: stopping\n")
        assert asked(port, "/")[0] == 404


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    made = SimpleNamespace(now=0.0)
    monkeypatch.setattr("sfumato.engine.stream.progress.time", SimpleNamespace(monotonic=lambda: made.now))
    return made


def test_a_stream_to_which_nothing_comes_waits(clock: SimpleNamespace) -> None:
    made = progress()
    assert made.health.words() == "ok"
    clock.now = 3600.0
    made.waiting()
    clock.now += 11.0
    made.waiting()

    assert made.health == Health("waiting", "no records come")
    made.awaited = "events.jsonl"
    assert made.health == Health("waiting", "no file yet")
    made.compiles = True
    assert made.health == Health("waiting", "kernels are compiled for this machine, once for each kind of work")


def test_a_stream_that_hangs_is_stalled(clock: SimpleNamespace) -> None:
    made = progress()
    clock.now = 75.0

    assert made.health == Health("stalled", "no record was taken or waited for, for 75 s")


def test_a_reader_who_does_not_read_is_waited_for_until_it_is_too_long(clock: SimpleNamespace) -> None:
    made = progress()
    for clock.now in (1.0, 30.0):
        made.held_up("nobody reads standard output")

    assert made.health == Health("waiting", "nobody reads standard output, for 29 s")
    clock.now = 61.0
    assert made.health == Health("stalled", "nobody reads standard output, for 60 s")
    made.goes_on()
    assert not made.health.is_stalled


def test_a_record_without_an_end_stalls_the_stream(clock: SimpleNamespace) -> None:
    made = progress()
    unfinished: Any = SimpleNamespace(size=1200, seconds=59.0)
    made.unfinished = unfinished
    assert made.health.words() == "ok"
    unfinished.seconds = 75.0

    assert made.health == Health("stalled", "1,200 bytes wait for the end of a record, for 75 s")


def test_questions_behind_a_path_and_heads_alone_are_answered() -> None:
    with served("0", progress()) as port:
        assert asked(port, "/metrics?x=1") == asked(port, "/metrics")
        assert asked(port, "/health", "HEAD") == (200, "")


def test_nothing_listens_where_nobody_asked_for_it() -> None:
    with served(None, progress()) as port:
        assert port is None


@pytest.mark.parametrize("address", ["metrics", "127.0.0.1:", "127.0.0.1:70000", "localhost:-1"])
def test_an_address_without_a_port_is_refused(address: str) -> None:
    with pytest.raises(SfumatoError) as refused, served(address, progress()):
        pass
    assert (refused.value.code, refused.value.status) == ("stream-address", 2)


def test_a_port_that_is_taken_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(SfumatoError) as refused, served(str(other.getsockname()[1]), progress()):
        pass
    assert (refused.value.code, refused.value.status) == ("stream-address", 5)


def test_the_line_for_a_terminal_names_views_and_measures() -> None:
    assert progress().line().endswith('re"s: held 2, z 20, p_kanon 0.75')


def test_who_goes_away_in_the_middle_of_a_request_is_not_told(capfd: pytest.CaptureFixture[str]) -> None:
    with served("0", progress()) as port:
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", port or 0)) as client:
                client.sendall(b"GET /metr")
                # closed at once, with a reset
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert asked(port, "/health")[0] == 200
        time.sleep(0.3)
    assert capfd.readouterr().err == ""
