"""Names of other programs, and what to write here."""

from __future__ import annotations

from typing import Any

import pytest
from ruamel.yaml import YAML

from sfumato import errors
from sfumato.core.other_names import OPERATIONS
from sfumato.errors import PolicyError
from sfumato.policy.load import load
from sfumato.policy.views import resolve_views
from sfumato.registry import names


def hint(mask: Any) -> str | None:
    with pytest.raises(PolicyError) as caught:
        resolve_views(load({"columns": {"a": {"role": "other", "mask": mask}}}))
    (mistake,) = caught.value.mistakes
    return mistake.hint


@pytest.mark.parametrize(
    ("mask", "meant"),
    [
        ("remove", "drop or empty"),
        ("delete", "drop"),
        ("nullify", "empty"),
        ("md5", "hash"),
        ("sha256", "hash"),
        ("replace", "constant or map_values"),
        ("star", "character_mask"),
        ("blurr_it_all", "one of"),
        ({"aggregate": {"function": "mean"}}, "average"),
        ({"aggregate": {"function": "avg"}}, "average"),
        ({"aggregate": {"function": "meddian"}}, "median"),
    ],
)
def test_a_name_of_another_program_gets_the_name_that_it_has_here(mask: Any, meant: str) -> None:
    assert (hint(mask) or "").startswith(meant)


def test_every_name_that_is_given_is_known() -> None:
    known = {*names("masking"), *names("sources"), "average", "max", "min"}
    assert {name for meant in errors._CALLED_ELSEWHERE.values() for name in meant.split()} <= known


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_an_operation_of_another_platform_is_told_with_settings_that_are_right(name: str) -> None:
    other = "".join(part.capitalize() for part in name.split("_"))

    assert " or ".join(OPERATIONS[name]) in (hint({other: {"mode": "FIXED"}}) or "")
    for written in OPERATIONS[name]:
        mask = YAML(typ="safe").load(f"{{{written}}}") if ":" in written else written
        columns = {"a": {"role": "other", "mask": mask}, "b": {"role": "other"}}
        resolve_views(load({"columns": columns, "keys": {"main": {"environment": "SFUMATO_KEY"}}}))


def test_a_name_that_may_mean_two_things_is_told_with_both() -> None:
    assert hint({"row_shuffle": {"withRepetitions": False}}) == (
        "the characters within each value: shuffle_characters: {letters: lower} or shuffle_characters: {repetition: true}; "
        "the values among rows: shuffle"
    )
    assert hint("ColumnShuffle") == "shuffle or shuffle: {repetition: true}"
