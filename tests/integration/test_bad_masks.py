"""Masks that could take for ever, look at each other, or run out: each gives its result or one clear error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.core.mask import MaskContext
from sfumato.errors import PolicyError
from sfumato.masking.tokenise import Tokenise


def run(columns: dict[str, Any], data: dict[str, Any], **more: Any) -> pa.Table:
    release: Any = sfumato.run({"columns": columns, **more}, pa.table(data))
    return release.table


def test_an_expression_that_makes_others_try_everything_ends() -> None:
    text = "a" * 50_000 + "!"
    masked = {"role": "other", "mask": {"regex_replace": {"pattern": "(a+)+$", "replacement": "x", "unmatched": "keep"}}}
    asked = {"role": "other", "mask": "empty", "when": {"column": "other", "matches": "^(a|a)*$"}}
    table = run({"text": masked, "other": asked}, {"text": [text], "other": [text]})

    assert table.to_pylist() == [{"text": text, "other": text}]


def test_masks_that_read_each_other_s_columns_both_see_what_was_there() -> None:
    columns = {
        "a": {"role": "other", "mask": {"expression": {"sql": "b", "columns": ["b"]}}},
        "b": {"role": "other", "mask": {"expression": {"sql": "a", "columns": ["a"]}}},
    }
    assert run(columns, {"a": ["1"], "b": ["2"]}).to_pylist() == [{"a": "2", "b": "1"}]


def test_pseudonyms_of_two_domains_that_name_each_other_are_made_from_what_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CYCLE_KEY", "one:k9fJ2mQx7Lr4Tz8WbV1nC5yHs0DpG3uE6aRiOoXeMNg=")
    keys = {"main": {"environment": "CYCLE_KEY"}}

    def hashed(first: str, second: str) -> list[Any]:
        return [{"hash": {"key": "main", "domain": first}}, {"hash": {"key": "main", "domain": second}}]

    columns = {"a": {"role": "other", "mask": hashed("one", "two")}, "b": {"role": "other", "mask": hashed("two", "one")}}
    one, again = (run(columns, {"a": ["x"], "b": ["x"]}, keys=keys).to_pylist() for _ in range(2))

    assert one == again
    assert one[0]["a"] != one[0]["b"]


@pytest.mark.slow
def test_a_million_values_get_a_million_tokens(tmp_path: Path) -> None:
    # ten millions take ten times as long: make benchmark-masks
    mask = Tokenise(vault=str(tmp_path / "large.vault"), namespace="large")
    made = []
    for start in range(0, 1_000_000, 250_000):
        values = pa.array(np.arange(start, start + 250_000)).cast(pa.string())
        made.append(mask.apply(pa.RecordBatch.from_arrays([values], names=["v"]), MaskContext("v")).cast(pa.int64()).to_numpy())

    tokens = np.concatenate(made)
    assert len(np.unique(tokens)) == 1_000_000
    # a value that is known gets the token that it has
    again = mask.apply(pa.RecordBatch.from_arrays([pa.array(["7"])], names=["v"]), MaskContext("v"))
    assert again.to_pylist() == [str(tokens[7])]


def test_dates_shifted_by_a_name_and_names_made_up_by_the_date_are_refused_before_the_first_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CYCLE_KEY", "one:k9fJ2mQx7Lr4Tz8WbV1nC5yHs0DpG3uE6aRiOoXeMNg=")
    keys = {"main": {"environment": "CYCLE_KEY"}}
    born = {"role": "other", "mask": {"date_shift": {"by": "name", "days": 30, "key": "main", "domain": "people"}}}
    name = {"role": "other", "mask": {"fake": {"kind": "name", "by": ["born"], "key": "main", "domain": "people"}}}
    data = {"born": ["1990-01-01"], "name": ["Ada"]}

    with pytest.raises(PolicyError) as refused:
        run({"born": born, "name": name}, data, keys=keys)

    assert [(mistake.key, mistake.code) for mistake in refused.value.mistakes] == [("columns.born.mask", "policy-mask-cycle")]


def test_a_structure_is_shuffled_as_a_whole() -> None:
    places = [{"town": town, "postcode": code} for town, code in (("Bremen", "28195"), ("Wien", "1010"), ("Graz", "8010"))]
    found = run({"place": {"role": "other", "mask": "shuffle"}}, {"place": places}).column("place").to_pylist()
    assert sorted(found, key=str) == sorted(places, key=str)
