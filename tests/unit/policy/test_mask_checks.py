"""What masks may be asked for beside promises and beside each other."""

from __future__ import annotations

from typing import Any

import pytest

from sfumato.errors import PolicyError
from sfumato.policy.load import load
from sfumato.policy.views import resolve_views

PROMISED = {"promises": [{"k_anonymity": {"k": 2}}]}


def told(columns: dict[str, Any], **keys: Any) -> list[str]:
    """Return what is said against a policy of these columns, word for word."""
    try:
        resolve_views(load({"columns": {"age": {"role": "quasi_identifier"}, **columns}, **keys}))
    except PolicyError as error:
        return [str(mistake) for mistake in error.mistakes]
    return []


NAME = {"role": "identifier"}
JOB = {"role": "sensitive", "mask": {"shorten": {"length": 1}}}


@pytest.mark.parametrize(
    ("key", "entry", "other", "words"),
    [
        ("when", {"mask": "empty", "when": {"column": "name", "equals": "Ada"}}, {"name": NAME}, "name, which is removed"),
        ("when", {"mask": "empty", "when": {"not": {"column": "job", "equals": "mayor"}}}, {"job": JOB}, "job, which is masked"),
        (
            "mask",
            {"mask": {"aggregate": {"function": "average", "by": ["job"]}}},
            {"job": {"role": "other", "mask": "shuffle", "accept": "inference"}},
            "job, which is masked",
        ),
        (
            "mask",
            {"mask": {"microaggregate": {"within": ["job"]}}},
            {"job": {"role": "other", "mask": "swap", "accept": "inference"}},
            "job, which is masked",
        ),
        ("mask", {"mask": {"expression": {"sql": "left(name, 1)", "columns": ["name"]}}}, {"name": NAME}, "name, which is removed"),
    ],
)
def test_nothing_beside_a_promise_may_show_a_column_that_is_hidden(key: str, entry: Any, other: Any, words: str) -> None:
    found = told({"room": {"role": "other", **entry}, **other}, **PROMISED)
    assert found == [
        f"columns.room.{key}: what is published would depend on {words}: who knows it finds the row [policy-mask-promise]\n"
        "  try: a column that is published as it is, or no promises"
    ]


@pytest.mark.parametrize("shown", [{"role": "other"}, {"role": "sensitive"}, {"role": "other", "mask": "keep"}])
def test_a_condition_may_look_at_what_is_published_as_it_is(shown: Any) -> None:
    assert told({"room": {"role": "other", "mask": "empty", "when": {"column": "ward", "equals": "A"}}, "ward": shown}, **PROMISED) == []


def test_a_condition_may_look_at_the_column_it_masks() -> None:
    assert told({"room": {"role": "other", "mask": "empty", "when": {"column": "room", "equals": "A"}}}, **PROMISED) == []


@pytest.mark.parametrize(
    ("mask", "first"),
    [
        ("blurr", "columns.a.mask: there is no 'blurr' among the masks of this version [component-unknown]"),
        ({"noise": {}}, "columns.a.mask: needs an amount, or a share in relative; one of them [policy-value]"),
        (None, "columns.a.mask: is null, which means no mask; `empty` makes values missing, and to have no mask leave the key out [policy-value]"),
    ],
)
def test_a_wrong_mask_is_one_mistake(mask: Any, first: str) -> None:
    with pytest.raises(PolicyError) as caught:
        resolve_views(load({"columns": {"a": {"role": "identifier", "mask": mask}}}))
    assert [str(mistake).splitlines()[0] for mistake in caught.value.mistakes] == [first]


@pytest.mark.parametrize("role", ["other", "identifier", "sensitive"])
def test_a_release_all_of_whose_columns_are_dropped_is_refused(role: str) -> None:
    with pytest.raises(PolicyError) as caught:
        resolve_views(load({"columns": {"a": {"role": role, "mask": "drop"}, "b": {"role": "identifier"}}}))
    assert [str(mistake) for mistake in caught.value.mistakes] == [
        "columns: every column is removed: nothing would be published [policy-no-columns]\n  try: give a column another role, or a mask"
    ]


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ({"and_": [{"column": "a", "equals": 1}]}, "columns.a.when.and_: unknown key [policy-unknown-key]\n  try: and"),
        ({"or_": [{"column": "a", "equals": 1}]}, "columns.a.when.or_: unknown key [policy-unknown-key]\n  try: or"),
        ({"nott": {"column": "a", "equals": 1}}, "columns.a.when.nott: unknown key [policy-unknown-key]\n  try: not"),
        ({"or": [{"colum": "a", "equals": 1}]}, "columns.a.when.or[0].colum: unknown key [policy-unknown-key]\n  try: column"),
        ({"not": {"and_": []}}, "columns.a.when.not.and_: unknown key [policy-unknown-key]\n  try: and"),
    ],
)
def test_a_wrong_condition_is_one_mistake_in_the_words_of_policies(when: Any, words: str) -> None:
    assert told({"a": {"role": "other", "mask": "empty", "when": when}}, **PROMISED) == [words]


def test_a_key_that_is_written_wrongly_is_not_said_to_be_missing_too() -> None:
    columns = {"pay": {"role": "other", "mask": {"hash": {"key": "main"}}}, "job": {"role": "other", "mask": {"hash": {"key": "other"}}}}
    assert [line.splitlines()[0] for line in told(columns, keys={"main": {"value": "secret"}}, **PROMISED)] == [
        "keys.main.value: unknown key [policy-unknown-key]",
        "columns.job.mask: needs the key other, which the policy does not name [policy-unknown-key-name]",
    ]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"sql": "left(town, 1)"},
            "names the column town, which is neither room nor among its columns [policy-unknown-column]\n  try: columns: [town] beside it",
        ),
        (
            {"sql": "room || towm", "columns": ["town"]},
            "names the column towm, which is neither room nor among its columns [policy-unknown-column]\n  try: town",
        ),
    ],
)
def test_a_column_that_an_expression_names_and_is_not_given_is_refused(settings: Any, words: str) -> None:
    columns = {"room": {"role": "other", "mask": {"expression": settings}}, "town": {"role": "other"}}
    assert told(columns, **PROMISED) == [f"columns.room.mask: expression {words}"]


@pytest.mark.parametrize("sql", ['ROOM || rows.town || "room"', "list_transform([room], x -> x || town)[1]", "current_date::text || rows::text"])
def test_an_expression_may_name_what_it_is_given(sql: str) -> None:
    columns = {"room": {"role": "other", "mask": {"expression": {"sql": sql, "columns": ["town"]}}}, "town": {"role": "other"}}
    assert told(columns, **PROMISED) == []


def test_a_mask_that_does_not_fit_what_another_makes_is_refused_with_the_policy() -> None:
    keys = {"main": {"environment": "KEY"}}
    after = {"role": "other", "mask": [{"hash": {"key": "main"}}, "keep", {"round_number": {"base": 10}}]}
    assert told({"pay": after}, keys=keys, **PROMISED) == [
        "columns.pay.mask: round_number takes integer or decimal, and the column is of type text once hash has made it [policy-mask-type]\n"
        "  try: round_number before hash, or one of them"
    ]


@pytest.mark.parametrize("mask", [{"aggregate": {"function": "sum"}}, {"microaggregate": {}}], ids=["aggregate", "microaggregate"])
def test_numbers_of_a_constant_that_is_none_are_refused_with_the_policy(mask: Any) -> None:
    (name,) = mask
    assert told({"pay": {"role": "other", "mask": ["constant", mask]}}, **PROMISED) == [
        f"columns.pay.mask: {name} takes integer or decimal, and the column is of type text once constant has made it [policy-mask-type]\n"
        f"  try: {name} before constant, or one of them"
    ]


@pytest.mark.parametrize("first", [{"hash": {"key": "main", "output": "integer"}}, {"constant": {"value": "5"}}, {"shorten": {"length": 2}}])
def test_a_mask_of_numbers_may_follow_one_that_could_make_them(first: Any) -> None:
    assert told({"pay": {"role": "other", "mask": [first, {"round_number": {"base": 10}}]}}, keys={"main": {"environment": "KEY"}}, **PROMISED) == []


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"type": "text", "mask": {"round_number": {"base": 5}}}, "round_number takes integer or decimal, and the column is of type text"),
        ({"type": "date", "mask": ["keep", {"noise": {"amount": 5}}]}, "noise takes integer or decimal, and the column is of type date"),
        ({"type": "integer", "mask": {"date_jitter": {"days": 5}}}, "date_jitter takes date or timestamp, and the column is of type integer"),
    ],
)
def test_a_mask_that_does_not_fit_the_declared_type_is_refused_with_the_policy(entry: Any, words: str) -> None:
    assert told({"pay": {"role": "other", **entry}}, **PROMISED) == [
        f"columns.pay.mask: {words} [policy-mask-type]\n"
        "  try: sfumato components --kind masking --table says which operations fit which types, some of them with some settings only"
    ]


def test_a_mask_of_a_column_whose_type_nobody_declares_is_for_the_plan_to_refuse() -> None:
    assert told({"pay": {"role": "other", "mask": {"round_number": {"base": 5}}}}, **PROMISED) == []


def test_a_key_that_is_wrong_is_one_mistake() -> None:
    assert told({}, formats={"age": {"pattern": 5}}, **PROMISED) == ["formats.age.pattern: must be text [policy-value]"]


def test_noise_on_numbers_in_the_writing_of_the_source_needs_decimals() -> None:
    def mistakes(**settings: Any) -> list[str]:
        return told({"pay": {"role": "other", "mask": {"noise": {"amount": 0.4, **settings}}}}, formats={"pay": "1.234,56"}, **PROMISED)

    assert mistakes(decimals=2) == []
    (words,) = mistakes()
    assert words.startswith("columns.pay.mask: noise gives a number as many decimals as it has, which are not known")
    assert "[policy-format]" in words


@pytest.mark.parametrize(
    ("form", "test", "read"),
    [
        ("%d.%m.%Y", {"equals": "31.12.1999"}, "1999-12-31"),
        ("%d.%m.%Y", {"one_of": ["1999-12-30", "31.12.1999"]}, "1999-12-31"),
        ("1.234,56", {"equals": "1.250,50"}, "1250.5"),
        ("1.234,56", {"equals": "0.50"}, "0.5"),
        ("%Y-%d-%m", {"equals": "1999-01-02"}, "1999-02-01"),
    ],
)
def test_a_condition_in_the_writing_of_the_source_is_refused(form: str, test: Any, read: str) -> None:
    columns = {"seen": {"role": "other"}, "room": {"role": "other", "mask": "empty", "when": {"not": {"and": [{"column": "seen", **test}]}}}}
    assert told(columns, formats={"seen": form}, **PROMISED) == [
        "columns.room.when: compares the column seen with a value as the source writes it, which no value equals once it is read [policy-condition]\n"
        f"  try: '{read}' in its place"
    ]


def test_a_condition_as_the_column_is_read_is_taken() -> None:
    columns = {"seen": {"role": "other"}, "room": {"role": "other", "mask": "empty", "when": {"column": "seen", "one_of": ["1999-12-31", "unknown"]}}}
    assert told(columns, formats={"seen": "%d.%m.%Y"}, **PROMISED) == []


def test_a_moment_is_taken_in_any_writing_that_a_condition_knows() -> None:
    columns = {"seen": {"role": "other"}, "room": {"role": "other", "mask": "empty", "when": {"column": "seen", "equals": "1999-12-31 11:30"}}}
    assert told(columns, formats={"seen": "%Y-%m-%d %H:%M"}, **PROMISED) == []


def test_the_beginning_of_sessions_in_the_writing_of_the_source_is_refused() -> None:
    keys = {"window": {"session": "10m", "column": "at", "starts": {"column": "day", "equals": "31.12.1999"}}, "subject": "name"}
    columns = {"name": NAME, "day": {"role": "identifier"}, "at": {"role": "identifier", "type": "timestamp"}}
    [found] = told(columns, formats={"day": "%d.%m.%Y"}, **keys, **PROMISED)
    assert found.startswith("window.starts: compares the column day with a value as the source writes it")


@pytest.mark.parametrize("mask", ["encrypt", {"date_shift": {"by": "age", "days": 3}}])
def test_a_mask_without_its_key_is_told_how_a_key_is_named(mask: Any) -> None:
    what, hint = told({"name": {"role": "identifier", "mask": mask}})[0].split("\n")
    assert what.endswith(": needs a key, by its name [policy-missing-key]")
    assert hint == "  try: write key: main, and keys: {main: {environment: SFUMATO_KEY}} in the policy"
