"""Loopback ports for servers."""

from __future__ import annotations

import random
import socket

# from 32768 on the system gives ports to whoever connects somewhere
LOWEST, HIGHEST = 20000, 32767


def free_port() -> int:
    """Return a port on which nobody listens now."""
    for port in random.SystemRandom().sample(range(LOWEST, HIGHEST + 1), 200):
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError(f"no port from {LOWEST} to {HIGHEST} is free")
