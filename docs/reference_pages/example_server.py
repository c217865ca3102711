"""The database of the examples: where a policy names it, a server is started, and people, visits and contacts are tables there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest import mock
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.csv

from services.catalogue import SERVERS
from services.processes import Process
from services.running import leave, start
from sfumato.registry import find

_WRITTEN = "postgresql://hospital@localhost/hospital"
_PASSWORD = "HOSPITAL_PASSWORD"  # noqa: S105 - the name of a variable


@contextmanager
def server(policy: Path) -> Iterator[None]:
    """Let a policy that names the database find it, under the address at which it really is."""
    text = policy.read_text(encoding="utf-8")
    if _WRITTEN not in text:
        yield
        return
    import psycopg

    ourselves = Process.of(os.getpid())
    there = os.environ.get("SFUMATO_POSTGRESQL_URL") or start(SERVERS["postgresql"], user=ourselves).url
    name = f"hospital_{secrets.token_hex(4)}"
    parts = urlsplit(there)
    with psycopg.connect(there, autocommit=True) as connection, mock.patch.dict(os.environ, {_PASSWORD: unquote(parts.password or "")}):
        connection.execute(f"CREATE DATABASE {name}")
        with suppress(psycopg.errors.DuplicateObject):
            connection.execute("CREATE ROLE nurse")
        try:
            url = parts._replace(netloc=f"{parts.username}@{parts.hostname}:{parts.port}", path=f"/{name}").geturl()
            with psycopg.connect(urlsplit(there)._replace(path=f"/{name}").geturl(), autocommit=True) as hospital:
                for table in ("people", "visits", "contacts"):
                    _stored(url, policy.parent / f"{table}.csv")
                hospital.execute("ALTER TABLE people ADD PRIMARY KEY (name)")
                hospital.execute("ALTER TABLE visits ADD FOREIGN KEY (person) REFERENCES people (name) ON DELETE SET NULL")
                hospital.execute("CREATE SCHEMA masked")
            policy.write_text(text.replace(_WRITTEN, url), encoding="utf-8")
            yield
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
            # one that others use too stays
            with suppress(psycopg.Error):
                connection.execute("DROP ROLE nurse")
            if ourselves is not None:
                leave(ourselves)


def _stored(url: str, path: Path) -> None:
    table = pa.csv.read_csv(path)
    writer = find("sinks", "sql")(url=url, table=path.stem, password={"environment": _PASSWORD}).open(table.schema)
    for batch in table.to_batches():
        writer.write(batch)
    writer.finish()
    writer.publish()
