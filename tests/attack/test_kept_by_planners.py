"""What a server keeps of the values of a table, to plan by: who may read a masked column may read that too."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

import sfumato
from tests.servers import ask, component

pytestmark = pytest.mark.slow

_KEPT = (
    "SELECT histogram_bounds::text, most_common_vals::text FROM pg_stats WHERE tablename = 'patients'",
    "SELECT most_common_vals::text, array_to_string(most_common_base_freqs, ' ') FROM pg_stats_ext WHERE tablename = 'patients'",
)


@pytest.fixture(params=["postgresql", "postgresql18"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def reader(url: str) -> Iterator[str]:
    role = f"reader_{secrets.token_hex(4)}"
    ask(url, f"CREATE ROLE {role} LOGIN PASSWORD 'x'", f"GRANT USAGE ON SCHEMA public TO {role}")
    yield role
    ask(url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def policy(url: str, reader: str) -> dict[str, Any]:
    """Make a table of which the server has kept names and towns, of a column too that it looks at no more, and return the policy that masks it."""
    ask(url, "DROP TABLE IF EXISTS patients", "CREATE TABLE patients (id integer PRIMARY KEY, name text, town text, street text)")
    ask(url, "INSERT INTO patients SELECT i, 'Erna ' || i, 'Ulm ' || i % 9, 'Weg ' || i % 9 FROM generate_series(1, 300) i")
    ask(url, "CREATE STATISTICS together (mcv) ON town, street FROM patients", "ANALYZE patients")
    ask(url, "ALTER TABLE patients ALTER COLUMN name SET STATISTICS 0", "ALTER STATISTICS together SET STATISTICS 0")
    ask(url, f"GRANT SELECT ON patients TO {reader}")
    masked = {"role": "identifier", "mask": {"shorten": {"length": 1}}}
    return {
        "source": {"sql": component(url, "patients")},
        "sink": {"sql": component(url, "patients") | {"in_place": True}},
        "columns": {"id": {"role": "other", "accept": "singling_out"}, "name": masked, "town": masked, "street": masked},
    }


def seen(url: str, reader: str) -> str:
    """Return all that the reader is told of what the server keeps."""
    parts = urlsplit(url)
    own = parts._replace(netloc=f"{reader}:x@{parts.hostname}:{parts.port}").geturl()
    return " ".join(str(value) for query in _KEPT for row in ask(own, query) for value in row)


def test_the_audience_reads_no_old_value_in_what_the_server_has_sampled(url: str, reader: str) -> None:
    given = policy(url, reader)
    before = seen(url, reader)
    assert all(word in before for word in ("Erna", "Ulm", "Weg"))
    sfumato.run(given)

    after = seen(url, reader)
    assert after
    assert not any(word in after for word in ("Erna", "Ulm", "Weg"))


def test_what_the_server_did_not_sample_it_does_not_sample_afterwards(url: str, reader: str) -> None:
    sfumato.run(policy(url, reader))
    targets = ask(url, "SELECT attstattarget FROM pg_attribute WHERE attrelid = 'patients'::regclass AND attname = 'name'")

    assert targets + ask(url, "SELECT stxstattarget FROM pg_statistic_ext WHERE stxname = 'together'") == [(0,), (0,)]


def test_no_histogram_of_old_values_is_left_for_the_audience(mysql_url: str) -> None:
    ask(mysql_url, "DROP TABLE IF EXISTS patients", "CREATE TABLE patients (id integer PRIMARY KEY, name varchar(20))")
    rows = ", ".join(f"({number}, 'Erna {number}')" for number in range(40))
    ask(mysql_url, f"INSERT INTO patients VALUES {rows}")
    ask(mysql_url, "ANALYZE TABLE patients UPDATE HISTOGRAM ON name")
    given = {
        "source": {"sql": component(mysql_url, "patients")},
        "sink": {"sql": component(mysql_url, "patients") | {"in_place": True}},
        "columns": {"id": {"role": "other", "accept": "singling_out"}, "name": {"role": "identifier", "mask": {"shorten": {"length": 1}}}},
    }
    kept = "SELECT histogram FROM information_schema.column_statistics WHERE table_name = 'patients' AND schema_name = DATABASE()"
    assert ask(mysql_url, kept)
    sfumato.run(given)

    assert ask(mysql_url, "SELECT DISTINCT name FROM patients") == [("E",)]
    assert not ask(mysql_url, kept)
