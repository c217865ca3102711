"""``docs/pseudonyms.md`` is enough to recompute what masks make: its code is run without sfumato, and held against releases."""

from __future__ import annotations

import base64
import datetime
import json
import re
import subprocess
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "pseudonyms.md").read_text(encoding="utf-8")
VECTORS: list[dict[str, str]] = json.loads((ROOT / "tests" / "vectors" / "pseudonyms.json").read_text(encoding="utf-8"))
SECRET, OLDER = bytes(range(32)), bytes(range(40, 72))
EAST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
COLUMNS: dict[str, pa.Array] = {
    "text": pa.array([" Ann ", "", "Jürgen 🙂"]),
    "whole": pa.array([-12, 0, 2**53 + 1], pa.int64()),
    "decimal": pa.array([Decimal("5.00"), Decimal("-0.25"), Decimal("0.00")], pa.decimal128(9, 2)),
    "binary": pa.array([0.1, -0.0, 1e21]),
    "truth": pa.array([True, False, True]),
    "day": pa.array([datetime.date(2020, 1, 31), datetime.date(1066, 10, 14), datetime.date(9999, 12, 31)]),
    "instant": pa.array([datetime.datetime(2020, 1, 31, 12, 30, tzinfo=EAST), datetime.datetime(1999, 12, 31, 23, 59, 59, 120000, EAST), None]),
}


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """Return what the code of the page defines."""
    (code,) = re.findall(r"<!-- recomputed -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    assert "sfumato" not in code
    pytest.importorskip("cryptography")
    defined: dict[str, Any] = {}
    exec(compile(code, "pseudonyms.md", "exec"), defined)
    return defined


@pytest.fixture
def released(tmp_path: Path) -> Callable[..., list[Any]]:
    """Return what makes a release of one column, in the order of the source, which a second column tells."""
    key = tmp_path / "main.key"
    lines = [f"k.{number}:{base64.b64encode(secret).decode()}\n" for number, secret in enumerate((SECRET, OLDER), start=1)]
    key.write_text("".join(lines))
    key.chmod(0o600)

    def release(values: pa.Array, mask: dict[str, Any], **policy: Any) -> list[Any]:
        columns = {"value": {"role": "other", "mask": mask}, "place": {"role": "other"}}
        told = {"columns": columns, "keys": {"main": {"file": str(key)}}, "accept": "singling_out", **policy}
        table = sfumato.run(told, data=pa.table({"value": values, "place": pa.array(range(len(values)))})).table
        rows = sorted(zip(table.column("place").to_pylist(), table.column("value").to_pylist(), strict=True))
        return [value for _, value in rows]

    return release


@pytest.mark.parametrize("kind", COLUMNS)
def test_hashes_of_every_type_can_be_recomputed(kind: str, page: dict[str, Any], released: Callable[..., list[Any]]) -> None:
    made = released(COLUMNS[kind], {"hash": {"key": "main", "domain": "Ärzte"}})
    purpose = page["purpose_of"](domain="Ärzte")
    assert made == [None if value is None else page["hashed"](value, SECRET, purpose) for value in COLUMNS[kind].to_pylist()]


def test_known_answers_are_those_of_the_page(page: dict[str, Any]) -> None:
    texts = [vector for vector in VECTORS if vector["type"] == "text"]
    assert texts
    for vector in texts:
        assert page["hashed"](vector["value"], bytes.fromhex(vector["key"]), f"domain:{vector['domain']}") == vector["hmac"]


def test_where_no_domain_is_named_the_purpose_is_that_of_the_view(page: dict[str, Any], released: Callable[..., list[Any]]) -> None:
    purpose = page["purpose_of"](policy_name="Station Süd")
    assert purpose == 'view:"default" of name "Station S\\u00fcd"'
    assert released(pa.array(["Ann"]), {"hash": {"key": "main"}}, name="Station Süd") == [page["hashed"]("Ann", SECRET, purpose)]


def test_without_a_name_the_purpose_has_the_path_of_the_policy(
    page: dict[str, Any], tmp_path: Path, sfumato_command: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (tmp_path / "main.key").write_text(f"k1:{base64.b64encode(SECRET).decode()}\n")
    (tmp_path / "main.key").chmod(0o600)
    (tmp_path / "people.csv").write_text("name\nAnn\n")
    mask = "columns: {name: {role: other, mask: {hash: {key: main}}}}"
    (tmp_path / "policy.yaml").write_text(f"source: people.csv\nkeys: {{main: {{file: main.key}}}}\n{mask}\nsink: release.csv\n")
    ended = sfumato_command("run", "policy.yaml", cwd=tmp_path)
    purpose = f'view:"default" of file {json.dumps(str(tmp_path / "policy.yaml"))}'
    assert (ended.returncode, (tmp_path / "release.csv").read_text()) == (0, f"name\n{page['hashed']('Ann', SECRET, purpose)}\n")


def test_other_outputs_of_hashes_follow_from_the_digest(page: dict[str, Any], released: Callable[..., list[Any]]) -> None:
    digest = bytes.fromhex(page["hashed"]("Ann", SECRET, "domain:d"))
    outputs = [released(pa.array(["Ann"]), {"hash": {"key": "main", "domain": "d", **more}})[0] for more in ({"output": "base64"}, {"length": 20})]
    assert outputs == [base64.urlsafe_b64encode(digest).decode().rstrip("="), digest.hex()[:20]]
    assert released(pa.array(["Ann"]), {"hash": {"key": "main", "domain": "d", "output": "integer"}}) == [int.from_bytes(digest[:8], "big") >> 1]


@pytest.mark.parametrize("operation", ["deterministic_encrypt", "encrypt"])
def test_ciphertexts_can_be_opened(operation: str, page: dict[str, Any], released: Callable[..., list[Any]]) -> None:
    values = COLUMNS["text"]
    made = released(values, {operation: {"key": "main", "domain": "accounts"}})
    found = [page["opened"](one, {"k.1": SECRET}, "domain:accounts", operation == "deterministic_encrypt") for one in made]
    assert found == [value.encode() for value in values.to_pylist()]
    if operation == "deterministic_encrypt":
        assert made == [page["sealed_again"](value, "k.1", SECRET, "domain:accounts") for value in values.to_pylist()]


@pytest.mark.parametrize(
    ("values", "settings"),
    [
        (["4000-1234-5678-9010", "12-3456", "1" * 61], {"keep": "-"}),
        (["Zebra42", "aaaaaaaaaaaa"], {"alphabet": "alphanumeric"}),
        (["zebras", "q" * 200], {"alphabet": "lower"}),
    ],
    ids=["digits", "alphanumeric", "lower"],
)
def test_format_preserving_encryption_can_be_done_and_undone(
    values: list[str], settings: dict[str, str], page: dict[str, Any], released: Callable[..., list[Any]]
) -> None:
    alphabets = {"lower": "abcdefghijklmnopqrstuvwxyz", "alphanumeric": "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"}
    given = (alphabets.get(settings.get("alphabet", ""), "0123456789"), settings.get("keep", ""))
    made = released(pa.array(values), {"format_preserving_encrypt": {"key": "main", "domain": "cards", **settings}})
    assert made == [page["ff1"](value, SECRET, "domain:cards", *given) for value in values]
    assert values == [page["ff1"](value, SECRET, "domain:cards", *given, decrypt=True) for value in made]
