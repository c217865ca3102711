"""One person whose subject is written in several ways is one person, wherever people are counted."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv as pacsv
from typer.testing import CliRunner

import sfumato
from sfumato.cli.app import app
from sfumato.errors import PromiseError, SfumatoError
from tests.writings import OTHERS, WRITINGS

KEY = "k1:" + base64.b64encode(bytes(range(32))).decode()


def rows_of(subjects: list[str], of_others: int = 10) -> dict[str, list[Any]]:
    number = len(subjects)
    # one person with many rows must not be most of a total
    pays = [of_others if any(subject in others for others in OTHERS.values()) else 10 for subject in subjects]
    return {"u": subjects, "age": [30] * number, "ill": ["flu", "cold", "gout"] * (number // 3) + ["flu"] * (number % 3), "pay": pays}


def policy(kind: str, **changes: Any) -> dict[str, Any]:
    columns = {"u": {"role": "identifier", "type": kind}, "age": {"role": "quasi_identifier"}, "ill": {"role": "sensitive"}, "pay": {"role": "other"}}
    return {"subject": "u", "columns": columns, "promises": [{"k_anonymity": {"k": 3}}]} | changes


def masked(kind: str, mask: dict[str, Any]) -> dict[str, Any]:
    columns = {"u": {"role": "identifier", "type": kind}, "age": {"role": "other"}, "ill": {"role": "other"}, "pay": {"role": "other", "mask": mask}}
    return {"subject": "u", "columns": columns}


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("kind", WRITINGS)
def test_k_anonymity(kind: str, coded: bool) -> None:
    # often enough that the column is read as codes
    many = 200 if coded else 1
    few, enough = (pa.table(rows_of((WRITINGS[kind] + others) * many)) for others in (OTHERS[kind][:1], OTHERS[kind]))

    with pytest.raises(PromiseError) as refused:
        sfumato.run(policy(kind), few)
    assert refused.value.code == "promise-impossible"
    assert sfumato.run(policy(kind), enough).record.promises[0].measured == 3


def test_what_is_not_of_the_declared_type_is_nobody() -> None:
    table = pa.table(rows_of(["5", "05", "005", "five", ""]))

    with pytest.raises(PromiseError) as refused:
        sfumato.run(policy("integer"), table)
    assert refused.value.code == "promise-impossible"


@pytest.mark.parametrize("mask", [{"aggregate": {"function": "average", "by": ["age"], "k": 3}}, {"microaggregate": {"k": 3}}])
@pytest.mark.parametrize("kind", WRITINGS)
def test_masks_of_groups(kind: str, mask: dict[str, Any]) -> None:
    few, enough = (pa.table(rows_of(WRITINGS[kind] + others, 100)) for others in (OTHERS[kind][:1], OTHERS[kind]))

    with pytest.raises(SfumatoError) as refused:
        sfumato.run(masked(kind, mask), few)
    assert refused.value.code == "mask-invalid"
    assert len(set(sfumato.run(masked(kind, mask), enough).table.column("pay").to_pylist())) == 1


@pytest.mark.parametrize("kind", WRITINGS)
def test_dates_of_one_person_move_alike(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATES", KEY)
    subjects = WRITINGS[kind] * 2 + OTHERS[kind]
    table = pa.table({"u": subjects, "at": ["2024-05-17"] * len(subjects)})
    columns = {
        "u": {"role": "identifier", "type": kind},
        "at": {"role": "other", "type": "date", "mask": {"date_shift": {"by": "u", "key": "dates", "days": 9000}}},
    }

    found = sfumato.run({"columns": columns, "keys": {"dates": {"environment": "DATES"}}}, table).table.column("at").to_pylist()

    assert sorted(Counter(found).values()) == [1, 1, len(subjects) - 2]


@pytest.mark.parametrize("kind", WRITINGS)
def test_fakes_of_one_person_are_one(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKES", KEY)
    table = pa.table({"u": WRITINGS[kind], "name": ["x"] * len(WRITINGS[kind])})
    columns = {
        "u": {"role": "identifier", "type": kind},
        "name": {"role": "other", "mask": {"fake": {"kind": "name", "key": "fakes", "by": ["u"]}}},
    }

    assert len(set(sfumato.run({"columns": columns, "keys": {"fakes": {"environment": "FAKES"}}}, table).table.column("name").to_pylist())) == 1


@pytest.mark.parametrize("kind", WRITINGS)
def test_rows_that_come_after_a_fit(kind: str) -> None:
    enough = pa.table(rows_of([WRITINGS[kind][0], *OTHERS[kind]]))
    fitted = sfumato.Anonymiser(policy(kind)).fit(enough)

    assert fitted.transform(enough).num_rows == 3
    with pytest.raises(SfumatoError) as refused:
        fitted.transform(pa.table(rows_of(WRITINGS[kind] + OTHERS[kind][:1])))
    assert refused.value.code == "transform-promise"


@pytest.mark.parametrize("kind", WRITINGS)
def test_how_many_there_are(kind: str, write_policy: Callable[..., Path]) -> None:
    rows = rows_of(WRITINGS[kind] + OTHERS[kind])
    path = write_policy(policy(kind, source={"delimited": {"path": "table.csv"}}))
    pacsv.write_csv(pa.table(rows), path.parent / "table.csv")

    assert '"people": 3' in CliRunner().invoke(app, ["assess", str(path), "--format", "json"]).stdout
    assert '"people": 3' in CliRunner().invoke(app, ["assess", str(path), "--subject", "u", "--format", "json"]).stdout


@pytest.mark.parametrize("way", ["mondrian", "castle", "mask"])
@pytest.mark.parametrize("kind", WRITINGS)
def test_streams(kind: str, way: str) -> None:
    asked = masked(kind, {"aggregate": {"function": "average", "k": 3}}) if way == "mask" else policy(kind)
    asked |= {"algorithm": {"castle": {"delta": 4}}} if way == "castle" else {"window": {"count": 4, "on_small": "suppress"}}
    session = sfumato.stream(asked)
    subjects = [*WRITINGS[kind], *WRITINGS[kind], *OTHERS[kind][:1]][-4:]
    rows = rows_of(subjects)
    records = [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]

    released = [*session.push(records), *session.flush()]

    assert [row for release in released for row in release.batch.column("pay").to_pylist() if row is not None] == []
