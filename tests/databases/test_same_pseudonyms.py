"""Pseudonyms of one value are the same bytes whatever database it stands in, made inside it or here."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import sfumato
from sfumato.core.keys import Key
from sfumato.engine.inside import not_inside
from sfumato.engine.plan import make_plan
from tests.servers import ask, component

SECRET = bytes(range(32))
TRUTH = {"map_values": {"mapping": {"1": "true", "0": "false"}}}
HASH = {"hash": {"key": "main", "domain": "shared"}}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_TEST_KEY", f"k1:{base64.b64encode(SECRET).decode()}")


def pseudonym_of(text: str) -> str:
    import hmac

    derived = Key("k1", SECRET).derived("domain:shared")
    return hmac.digest(derived.hex().encode(), text.encode(), "sha256").hex()


def published(url: str, mask: Any, inside: bool, folder: Path) -> list[tuple[int, str]]:
    """Return the numbers and pseudonyms of the table ``people``, made by the server or here."""
    parts = urlsplit(url)
    servers = {"servers": [f"{parts.scheme}://{parts.hostname}:{parts.port}{parts.path}"]} if inside else {}
    policy = {
        "source": {"sql": component(url, "people")},
        "sink": {"sql": component(url, "release")} if inside else {"delimited": {"path": str(folder / "release.csv")}},
        "keys": {"main": {"environment": "SFUMATO_TEST_KEY", **servers}},
        "columns": {"number": {"role": "other"}, "code": {"role": "other", "mask": mask}},
    }
    assert (not_inside(make_plan(policy)) is None) is inside
    released: Any = sfumato.run(policy)
    return sorted((int(row["number"]), row["code"]) for row in released.table.to_pylist())


@pytest.mark.parametrize("inside", [True, False])
def test_truth_values_have_one_pseudonym_where_they_are_numbers_too(postgresql_url: str, mariadb_url: str, inside: bool, tmp_path: Path) -> None:
    for url in (postgresql_url, mariadb_url):
        ask(url, "DROP TABLE IF EXISTS people", "CREATE TABLE people (number int, code boolean)")
        ask(url, "INSERT INTO people VALUES (1, true), (2, false)")

    expected = [(1, pseudonym_of("true")), (2, pseudonym_of("false"))]
    assert published(postgresql_url, HASH, inside, tmp_path) == expected
    assert published(mariadb_url, [TRUTH, HASH], inside, tmp_path) == expected


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("kind", ["char(8)", "varchar(8)", "text", "short_code"])
def test_a_text_has_one_pseudonym_however_a_server_fills_it(postgresql_url: str, mariadb_url: str, kind: str, inside: bool, tmp_path: Path) -> None:
    ask(postgresql_url, "DROP TABLE IF EXISTS people", "DROP DOMAIN IF EXISTS short_code", "CREATE DOMAIN short_code AS char(8)")
    ask(mariadb_url, "DROP TABLE IF EXISTS people")
    for url, called in ((postgresql_url, kind), (mariadb_url, "char(8)" if kind == "short_code" else kind)):
        ask(url, f"CREATE TABLE people (number int, code {called})", "INSERT INTO people VALUES (1, 'a'), (2, 'b c')")

    expected = [(1, pseudonym_of("a")), (2, pseudonym_of("b c"))]
    assert published(postgresql_url, HASH, inside, tmp_path) == expected
    assert published(mariadb_url, HASH, inside, tmp_path) == expected
