"""The columns of a source and of a policy: what is said where they differ."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato.engine.plan import make_plan
from sfumato.errors import DataError

COLUMNS = {"age": {"role": "quasi_identifier"}, "sex": {"role": "quasi_identifier"}, "ill": {"role": "sensitive"}}
POLICY = {"columns": COLUMNS, "promises": [{"k_anonymity": {"k": 2}}]}


def difference(path: Path) -> DataError:
    with pytest.raises(DataError) as raised:
        make_plan(path)
    assert raised.value.code == "columns-differ"
    return raised.value


@pytest.mark.parametrize(("asked", "used"), [(";", ","), (",", ";"), (",", "|"), ("|", ",")])
def test_a_file_of_one_column_with_another_delimiter_in_it_gets_that_one(asked: str, used: str, write_policy: Callable[..., Path]) -> None:
    source = {"delimited": {"path": "data.csv", "delimiter": asked}}
    error = difference(write_policy({**POLICY, "source": source}, used.join(COLUMNS) + "\n"))

    assert error.message == f'the source has one column with the delimiter "{asked}", but "{used}" stands in its first line'
    assert error.hint == f'source: {{delimited: {{path: ..., delimiter: "{used}"}}}}'


def test_of_two_delimiters_the_one_that_gives_names_of_the_policy_is_meant(write_policy: Callable[..., Path]) -> None:
    source = {"delimited": {"path": "data.csv", "delimiter": "|"}}
    error = difference(write_policy({**POLICY, "source": source}, "age,sex,ill;treatment\n"))

    assert error.hint == 'source: {delimited: {path: ..., delimiter: ","}}'


def test_only_names_that_are_near_are_proposed(write_policy: Callable[..., Path]) -> None:
    columns = {"age": COLUMNS["age"], "1": COLUMNS["sex"], "il": COLUMNS["ill"]}
    error = difference(write_policy({**POLICY, "columns": columns, "source": "data.csv"}, "age,sex,ill\n"))

    assert error.hint == "name each of them with a role; role identifier removes it; ill in place of il"


def test_names_that_are_near_to_none_are_to_be_left_out(write_policy: Callable[..., Path]) -> None:
    error = difference(write_policy({**POLICY, "source": "data.csv"}, "age\n"))

    assert error.hint == "leave them out of the policy, or call them as the source does"


def test_a_source_without_a_header_shows_none_of_its_cells(write_policy: Callable[..., Path]) -> None:
    error = difference(write_policy({**POLICY, "source": "data.csv"}, "canary\n"))

    assert str(error) == (
        "the source has 1 column, none of which is among the 3 of the policy [columns-differ]\n"
        "  try: if its first line is no header, say source: {delimited: {path: ..., header: false}}"
    )


def test_names_that_differ_in_capitals_alone_are_what_is_meant(write_policy: Callable[..., Path]) -> None:
    error = difference(write_policy({**POLICY, "source": "data.csv"}, "AGE, Sex,Ill,canary\n"))

    assert error.message == (
        "the source has columns that the policy does not name: AGE,  Sex, Ill; the policy names columns that the source does not have: age, sex, ill"
    )
    assert error.hint == 'AGE in place of age; " Sex" in place of sex; Ill in place of ill'
