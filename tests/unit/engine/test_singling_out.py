"""Columns by which alone somebody is found: people are counted, not rows, where one has several."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import PromiseError

PEOPLE = 40


def run(column: dict[str, Any], rows_of_one: int = 2) -> Any:
    pids = [number for number in range(PEOPLE) for _ in range(rows_of_one)]
    table = pa.table({"pid": pids, "age": [30 + pid % 4 for pid in pids], "phone": [f"0421 {pid}" for pid in pids]})
    columns = {"pid": {"role": "identifier"}, "age": {"role": "quasi_identifier"}, "phone": column}
    return sfumato.run({"columns": columns, "subject": "pid", "promises": [{"k_anonymity": {"k": 5}}]}, table)


@pytest.mark.parametrize("rows_of_one", [1, 2, 7])
@pytest.mark.parametrize("column", [{"role": "other"}, {"role": "other", "mask": {"regex_replace": {"pattern": "0", "replacement": "9"}}}], ids=str)
def test_a_value_of_one_person_alone_singles_out_however_many_rows_there_are(column: dict[str, Any], rows_of_one: int) -> None:
    with pytest.raises(PromiseError) as caught:
        run(column, rows_of_one)
    assert caught.value.code == "singling-out"


def test_of_a_sensitive_column_it_is_told() -> None:
    assert any("phone" in note and "occur once" in note for note in run({"role": "sensitive"}).record.notes)


def test_an_anonymiser_counts_people_too() -> None:
    pids = [number for number in range(PEOPLE) for _ in range(2)]
    columns = {"pid": {"role": "identifier"}, "age": {"role": "quasi_identifier"}, "phone": {"role": "other"}}
    policy = {"columns": columns, "subject": "pid", "promises": [{"k_anonymity": {"k": 2}}]}
    shared = pa.table({"pid": pids, "age": [30] * len(pids), "phone": ["0421"] * len(pids)})
    told = sfumato.Anonymiser(policy).fit(shared)

    with pytest.raises(PromiseError, match="singling-out"):
        told.transform(shared.set_column(2, "phone", pa.array([f"0421 {pid}" for pid in pids])))


@pytest.mark.parametrize(
    "mask", [{"hash": {"key": "main"}}, {"deterministic_encrypt": {"key": "main"}}, {"tokenise": {"namespace": "linking"}}], ids=str
)
def test_a_pseudonym_that_puts_the_rows_of_one_person_together_is_refused(mask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKING_KEY", "one:k9fJ2mQx7Lr4Tz8WbV1nC5yHs0DpG3uE6aRiOoXeMNg=")
    pids = [number for number in range(PEOPLE) for _ in range(3)]
    table = pa.table({"pid": pids, "age": [30 + place % 4 for place in range(len(pids))], "mail": [f"{pid}@example.org" for pid in pids]})

    def given(**more: Any) -> dict[str, Any]:
        mail = {"role": "identifier", "mask": mask, **more}
        columns = {"pid": {"role": "identifier"}, "age": {"role": "quasi_identifier"}, "mail": mail}
        keys = {"main": {"environment": "LINKING_KEY"}}
        return {"columns": columns, "keys": keys, "subject": "pid", "promises": [{"k_anonymity": {"k": 5}}], "name": "linking"}

    with pytest.raises(PromiseError, match="are one person's alone and show which rows are theirs"):
        sfumato.run(given(), table)
    assert sfumato.run(given(accept="singling_out"), table).table.num_rows == len(pids)
    # where everybody has one row there is nothing to put together
    alone = table.take(pa.array(range(0, len(pids), 3)))
    assert sfumato.run(given(), alone).table.num_rows == PEOPLE


def test_where_nothing_is_promised_the_subject_may_have_a_pseudonym(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKING_KEY", "one:k9fJ2mQx7Lr4Tz8WbV1nC5yHs0DpG3uE6aRiOoXeMNg=")
    columns = {"pid": {"role": "identifier", "mask": {"hash": {"key": "main"}}}, "drug": {"role": "other"}}
    policy = {"columns": columns, "keys": {"main": {"environment": "LINKING_KEY"}}, "subject": "pid", "name": "doctors"}
    release: Any = sfumato.run(policy, pa.table({"pid": ["a", "a", "b"], "drug": ["x", "y", "x"]}))

    assert len(set(release.table["pid"].to_pylist())) == 2


VISITS = [number for number in range(PEOPLE) for _ in range(3)]


def visits(pid: dict[str, Any], **more: Any) -> Any:
    # the three rows of a person are alike, so that a class of six rows is two people
    table = pa.table({"pid": [f"P{pid}" for pid in VISITS], "age": [30 + pid // 2 for pid in VISITS], "mail": ["x"] * len(VISITS), **more})
    columns = {"pid": pid, "age": {"role": "quasi_identifier"}, "mail": {"role": "other"}}
    policy = {"columns": columns, "keys": {"main": {"environment": "LINKING_KEY"}}, "name": "visits", "promises": [{"k_anonymity": {"k": 5}}]}
    return sfumato.run(policy, table)


@pytest.mark.parametrize("mask", [{"hash": {"key": "main"}}, "keep", {"tokenise": {"namespace": "visits"}}], ids=str)
def test_pseudonyms_that_show_classes_of_few_people_are_refused_where_nobody_says_whose_rows_they_are(
    mask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINKING_KEY", "one:k9fJ2mQx7Lr4Tz8WbV1nC5yHs0DpG3uE6aRiOoXeMNg=")
    with pytest.raises(PromiseError) as caught:
        visits({"role": "identifier", "mask": mask})
    assert (caught.value.code, caught.value.hint) == (
        "subject-missing",
        "subject: pid; or say accept: singling_out in columns.pid, if it says nothing of people",
    )
    accepted = visits({"role": "identifier", "mask": mask, "accept": "singling_out"})
    assert any("many values of the identifier pid stand in several rows" in note for note in accepted.record.notes)


def test_all_pseudonyms_that_show_classes_of_few_people_are_named_at_once() -> None:
    table = pa.table({"pid": [f"P{pid}" for pid in VISITS], "card": [f"C{pid}" for pid in VISITS], "age": [30 + pid // 2 for pid in VISITS]})
    columns = {name: {"role": "identifier", "mask": "keep"} for name in ("pid", "card")} | {"age": {"role": "quasi_identifier"}}
    with pytest.raises(PromiseError) as caught:
        sfumato.run({"columns": columns, "promises": [{"k_anonymity": {"k": 5}}]}, table)

    assert "fewer than 5 values of each of the identifiers pid, card, as everybody can see" in str(caught.value)
    assert caught.value.hint == "subject: pid; or say accept: singling_out in columns.pid and columns.card, if they say nothing of people"


def test_an_identifier_that_is_removed_and_stands_in_several_rows_is_noted() -> None:
    assert any("say subject: pid" in note for note in visits({"role": "identifier"}).record.notes)


SECURITY = "numbers in the form of social security numbers"


@pytest.mark.parametrize(
    ("form", "kind"), [("p{}@example.org", "e-mail addresses"), ("+49 421 12345{}", "telephone numbers"), ("219-09-990{}", SECURITY)]
)
def test_values_that_say_who_somebody_is_are_noted(form: str, kind: str) -> None:
    told = visits({"role": "identifier"}, mail=[form.format(number % 9) for number in range(len(VISITS))])
    assert f"most values of column mail are {kind}, and they are published as they are" in told.record.notes


def test_a_column_of_which_half_are_addresses_is_noted() -> None:
    told = visits(
        {"role": "identifier"}, mail=[f"p{number % 8}@example.org" if number % 2 else f"none {number % 8}" for number in range(len(VISITS))]
    )
    assert "many values of column mail are e-mail addresses, and they are published as they are" in told.record.notes


def test_numbers_of_which_nobody_has_many_are_not_taken_for_those_of_people() -> None:
    # no social security number begins with 9
    told = visits({"role": "identifier"}, mail=[f"{number % 9 + 1}23-45-6789" for number in range(len(VISITS))])
    assert not any("social security" in note for note in told.record.notes)


@pytest.mark.parametrize(
    "mask",
    [
        [{"noise": {"amount": 0.01}}, {"regex_replace": {"pattern": "^", "replacement": "EUR "}}],
        [{"noise": {"amount": 0.01}}, {"expression": {"sql": "-CAST(pay AS DOUBLE)"}}],
        [{"noise": {"amount": 0.01}}, {"character_mask": {"keep_first": 7}}],
    ],
    ids=str,
)
def test_noise_that_is_written_in_another_way_hides_no_more(mask: Any) -> None:
    rows = 200
    table = pa.table({"age": [30 + row % 4 for row in range(rows)], "pay": [1000.5 + 17.25 * row for row in range(rows)]})
    policy = {
        "columns": {"age": {"role": "quasi_identifier"}, "pay": {"role": "other", "mask": mask}},
        "promises": [{"k_anonymity": {"k": 5}}],
    }
    with pytest.raises(PromiseError, match="singling-out"):
        sfumato.run(policy, table)
