"""Values as bytes, held to known answers: in Python, and in SQL that has no HMAC of its own."""

from __future__ import annotations

import hmac
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from sfumato.core.canonical import ValueType
from sfumato.core.keys import Key
from sfumato.core.pseudonym import key_text, pads, pseudonyms
from sfumato.core.value_bytes import value_text

VECTORS: list[dict[str, str]] = json.loads((Path(__file__).parents[2] / "vectors" / "pseudonyms.json").read_text(encoding="utf-8"))

# the text of a value in DuckDB, as the definition asks for it
SHORTEST = r"regexp_replace(regexp_replace(CAST(v AS VARCHAR), '(\.[0-9]*[1-9])0+$', '\1'), '\.0+$', '')"
IN_SQL = {
    "text": "v",
    "integer": "CAST(v AS VARCHAR)",
    "decimal": SHORTEST,
    "date": "strftime(v, '%Y-%m-%d')",
    "timestamp": SHORTEST.replace("CAST(v AS VARCHAR)", "strftime(v, '%Y-%m-%dT%H:%M:%S.%f')") + " || 'Z'",
    "boolean": "CAST(v AS VARCHAR)",
}


def typed(vector: dict[str, str]) -> pa.Array:
    text = vector["value"]
    if vector["type"] == "decimal":
        scale = -int(Decimal(text).as_tuple().exponent)
        return pa.array([Decimal(text)], pa.decimal128(38, scale))
    if vector["type"] == "timestamp":
        return pa.array([datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)], pa.timestamp("us"))
    made: dict[str, Any] = {"text": text, "integer": lambda: int(text), "date": lambda: date.fromisoformat(text), "boolean": lambda: text == "true"}
    value = made[vector["type"]]
    return pa.array([value() if callable(value) else value])


def named(vector: dict[str, str]) -> str:
    return f"{vector['type']}-{ascii(vector['value'])[:30]}-{vector['domain']}"


def test_there_are_vectors_of_every_type() -> None:
    assert {vector["type"] for vector in VECTORS} == set(IN_SQL)
    assert len(VECTORS) > 60


@pytest.mark.parametrize("vector", VECTORS, ids=named)
def test_python_makes_the_known_pseudonym(vector: dict[str, str]) -> None:
    key = Key("k", bytes.fromhex(vector["key"])).derived(f"domain:{vector['domain']}")
    text = value_text(typed(vector))

    assert key.hex() == vector["derived"]
    assert text[0].as_py().encode().hex() == vector["bytes"]
    assert pseudonyms(text, key)[0].as_py() == vector["hmac"]
    assert hmac.digest(key_text(key).encode(), bytes.fromhex(vector["bytes"]), "sha256").hex() == vector["hmac"]


@pytest.mark.parametrize("vector", VECTORS, ids=named)
def test_sql_with_two_nested_digests_makes_the_known_pseudonym(vector: dict[str, str]) -> None:
    inner, outer = pads(bytes.fromhex(vector["derived"]))
    with duckdb.connect() as connection:
        connection.register("given", pa.table({"v": typed(vector)}))
        query = f"SELECT sha256(CAST($outer AS BLOB) || unhex(sha256(CAST($inner AS BLOB) || encode({IN_SQL[vector['type']]})))) FROM given"
        (found,) = connection.execute(query, {"inner": inner, "outer": outer}).fetchone()
    assert found == vector["hmac"]


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("integer", ["+7", "-0", "007", "x", "1.0"], ["7", "0", None, None, None]),
        (
            "decimal",
            ["+5.00", "-0.0", "1.5e3", "99999999999999999999999999.10", "05", "1e-3"],
            ["5", "0", "1500", "99999999999999999999999999.1", None, "0.001"],
        ),
        ("date", ["2020-02-29", "2021-02-29"], ["2020-02-29", None]),
        ("timestamp", ["2020-01-31 12:30", "2020-01-31T14:30:00+02:00", "noon"], ["2020-01-31T12:30:00Z", "2020-01-31T12:30:00Z", None]),
        ("ip", ["2001:DB8::1", "::ffff:10.0.0.1", "10.0.0.300"], ["2001:db8::1", "10.0.0.1", None]),
        ("text", ["+7", " x"], ["+7", " x"]),
    ],
)
def test_text_of_a_declared_type_is_that_value_or_nothing(kind: ValueType, given: list[str], expected: list[str | None]) -> None:
    assert value_text(pa.array(given), kind).to_pylist() == expected


def test_text_without_a_type_is_itself_byte_for_byte() -> None:
    texts = ["5", "5.0", "", " a ", "Ä", "A\u0308"]
    assert value_text(pa.array(texts)).to_pylist() == texts


def test_a_number_alone_is_what_it_is_among_others() -> None:
    given = pa.array(["5", "1e2", "0.125", "12345678901234567.5"])
    assert [value_text(given.slice(place, 1), "decimal")[0].as_py() for place in range(4)] == value_text(given, "decimal").to_pylist()


def test_binary_fractions_are_their_shortest_decimal_without_exponent() -> None:
    given = pa.array([0.1, 5.0, -0.0, 1e16, 1e22, -1e-7, float("nan"), float("inf"), None])
    assert value_text(given).to_pylist() == ["0.1", "5", "0", "1" + "0" * 16, "1" + "0" * 22, "-0.0000001", None, None, None]
    assert value_text(pa.array([0.1, 16777216.0], pa.float32())).to_pylist() == ["0.1", "16777216"]


def test_instants_have_as_much_of_a_fraction_as_there_is() -> None:
    assert value_text(pa.array([1, 1_500_000_000, 0, -1], pa.timestamp("ns", "Asia/Tokyo"))).to_pylist() == [
        "1970-01-01T00:00:00.000000001Z",
        "1970-01-01T00:00:01.5Z",
        "1970-01-01T00:00:00Z",
        "1969-12-31T23:59:59.999999999Z",
    ]


def test_dictionaries_and_unsigned_numbers_are_read_too() -> None:
    assert value_text(pa.array(["a", None, "a"]).dictionary_encode()).to_pylist() == ["a", None, "a"]
    assert value_text(pa.array([2**63 + 5], pa.uint64())).to_pylist() == ["9223372036854775813"]
