"""A second session of PostgreSQL, which does a statement while the first does another: one session writes with one process only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

# a session whose process is dead ends, and does not wait until its statement is done
_LEFT_ALONE = "client_connection_check_interval = '1s'"


@contextmanager
def helped(address: str, settings: Sequence[str], statement: str) -> Iterator[None]:
    """Let another session do a statement meanwhile; it is stopped where something fails here, and its error is raised at the end."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as session, ThreadPoolExecutor(1) as thread:
        for setting in (*settings, _LEFT_ALONE):
            session.execute(f"SET {setting}".encode())
        done = thread.submit(session.execute, statement.encode())
        try:
            yield
            done.result()
        except BaseException:
            session.cancel()
            raise
