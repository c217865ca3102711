"""Addresses of databases, and how rows are written for them in bulk."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pytest

import sfumato
from sfumato.databases.address import parsed
from sfumato.databases.bulk_text import bulk_text
from sfumato.databases.key_servers import PolicyKey
from sfumato.databases.postgresql import PostgresqlConnection
from sfumato.errors import PolicyError, SfumatoError
from tests.servers import component, made


def test_an_address_has_the_port_of_its_kind_and_names_without_their_escapes() -> None:
    found = parsed("mariadb://r%40d@db.example.org/ward%20seven?unix_socket=/run/m.sock")
    assert (found.kind, found.host, found.port, found.user, found.database) == ("mysql", "db.example.org", 3306, "r@d", "ward seven")
    assert found.options == {"unix_socket": "/run/m.sock"}
    assert found.shown == "the database ward seven on /run/m.sock"


@pytest.mark.parametrize(("given", "mode"), [("", "verify-full"), ("&sslmode=verify-ca", "verify-ca"), ("&sslmode=require", "require")])
def test_an_authority_is_one_that_the_server_is_held_to(given: str, mode: str) -> None:
    assert parsed(f"postgresql://host/db?sslrootcert=ca.pem{given}").options == {"sslrootcert": "ca.pem", "sslmode": mode}


def test_a_server_without_a_certificate_is_refused_where_an_authority_is_named(postgresql_url: str, tmp_path: Path) -> None:
    authority = tmp_path / "authority.pem"
    authority.write_text("")
    given = component(postgresql_url, "nothing")
    given["url"] += f"?sslrootcert={authority}"
    with pytest.raises(SfumatoError) as caught:
        made("sources", {"sql": given}).describe()
    assert caught.value.code == "database-unreachable"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://me:canary@host/db", "holds a password: take it out"),
        ("oracle://host/db", "is no address of a database that is known"),
        ("postgresql://host", "names no database"),
        ("postgresql://host/a/b", "names no database"),
        ("postgresql://host:port/db", "is no address of a database"),
        ("postgresql://host/db?password=canary", "has options that are not known: password"),
        ("postgresql://host/db?host=canary", "has options that say where to go, host, which its own parts say"),
        ("postgresql://host/db?hostaddr=canary&port=1", "has options that say where to go, hostaddr, port, which"),
        ("postgresql://host/db?service=canary", "has options that say where to go, service, which"),
        ("postgresql://host/db?sslrootcert=canary.pem&sslmode=prefer", "a way by which no certificate is looked at"),
        ("postgresql://host/db?sslmode=disable&sslrootcert=canary.pem", "a way by which no certificate is looked at"),
        ("mysql://host/db?host=canary", "has options that say where to go, host, which"),
        ("mysql://host/db#canary", "has options that are not known: a fragment"),
    ],
)
def test_what_is_no_address_is_refused_and_not_repeated(url: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        parsed(url)
    assert "canary" not in str(caught.value)


def test_a_key_goes_by_a_socket_only_where_the_policy_names_that_socket() -> None:
    by_port, by_socket = "mysql://db.example.org/ward", "mysql://db.example.org/ward?unix_socket=/run/m.sock"
    named = {url: PolicyKey(environment="KEY", servers=[url]) for url in (by_port, by_socket)}
    assert [key.may_be_on(parsed(f"mysql://reader@{url[8:]}")) for key in named.values() for url in named] == [True, False, False, True]


def test_a_variable_of_the_environment_does_not_lead_to_another_server(postgresql_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = urlsplit(postgresql_url)
    address = parsed(parts._replace(netloc=f"{parts.username}@{parts.hostname}:{parts.port}").geturl())
    # of the block that nobody has: who heeded it would not be answered
    monkeypatch.setenv("PGHOSTADDR", "192.0.2.1")
    with PostgresqlConnection(address, unquote(parts.password or "")) as connection:
        assert connection.facts("SELECT inet_server_addr()::text", []) == [("127.0.0.1/32",)]
        connection.do("SELECT 1")


def test_rows_in_bulk_say_what_is_missing_and_what_is_empty() -> None:
    batch = pa.RecordBatch.from_pydict(
        {
            "text": ["a\tb\\c\nd\re", "", None],
            "code": pa.array(["x", None, "x"]).dictionary_encode(),
            "at": pa.array([0, None, 1_500_000], pa.timestamp("us", tz="Europe/Berlin")),
            "ok": [True, False, None],
        }
    )
    assert bulk_text(batch) == b"a\\tb\\\\c\\nd\\re\tx\t1970-01-01 00:00:00.000000\t1\n\t\\N\t\\N\t0\n\\N\tx\t1970-01-01 00:00:01.500000\t\\N\n"
    assert bulk_text(batch.slice(0, 0)) == b""


@pytest.mark.parametrize("given", ["SECRET-word", 5, ["SECRET-word"]])
def test_a_password_in_the_place_of_where_it_is_found_is_not_repeated(given: Any) -> None:
    source = {"sql": {"url": "postgresql://reader@localhost/clinic", "table": "patients", "password": given}}

    with pytest.raises(PolicyError) as refused:
        sfumato.run({"source": source, "columns": {"age": {"role": "other"}}})

    assert "{environment: NAME}, {file: path} or {command: [...]}" in str(refused.value)
    assert "SECRET" not in str(refused.value)
