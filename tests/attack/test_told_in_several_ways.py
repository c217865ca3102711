"""Readers who put together what is told of one column in several ways: brackets, conditions, extremes, modes, values in another order.

Each policy was published once, and somebody's value followed from it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import PolicyError, PromiseError

pytestmark = pytest.mark.slow

OTHER: dict[str, Any] = {"role": "other"}
PID = {"role": "other", "accept": "singling_out"}
SUM, AVERAGE, MAX, MODE = ({"aggregate": {"function": function, "k": 3}} for function in ("sum", "average", "max", "mode"))
BANDS = {"generalise": {"size": 100}}


@pytest.fixture(autouse=True)
def _a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYS_KEY", "one:k9fJ2mQx7Lr4Tz8WbV1nC5yHs0DpG3uE6aRiOoXeMNg=")


def masked(mask: Any, **further: Any) -> dict[str, Any]:
    return {**OTHER, "mask": mask, **further}


def by(column: str, mask: dict[str, Any], **further: Any) -> dict[str, Any]:
    return {"aggregate": {**mask["aggregate"], "by": [column], **further}}


def codes(policy: dict[str, Any]) -> set[str]:
    """Return what is wrong with a policy; nothing where it is published, or looked at with its data."""
    people = 9
    table = {"pid": [f"p{number}" for number in range(people)], "ward": list("AAAABBBBB"), "sex": list("ffmmffmmm")}
    pays = [[10, 120, 230, 340, 450, 560, 670, 780, 990]] * 2
    columns = {"pid": PID, "ward": OTHER, "sex": OTHER, "pay": OTHER, "again": {"role": "identifier"}, **policy.get("columns", {})}
    try:
        given = {**policy, "columns": columns, "keys": {"main": {"environment": "WAYS_KEY"}}}
        sfumato.run(given, pa.table({**table, "pay": pays[0], "again": pays[1]}))
    except PolicyError as error:
        return {mistake.code for mistake in error.mistakes}
    except PromiseError as error:
        assert error.code == "aggregate-difference"
    return set()


def read_together(one: Any, other: Any, **policy: Any) -> set[str]:
    views = {"one": {"columns": {"pay": one}}, "other": {"columns": {"pay": other}}}
    return codes({"views": views, "readers": {"clerk": ["one", "other"]}, **policy})


SEVERAL_WAYS = {
    "shuffled values beside bands": (masked(BANDS), masked("shuffle")),
    "shuffled values beside rounded ones": (masked({"round_number": {"base": 100}}), masked({"shuffle": {"within": ["ward"]}})),
    "shuffled values beside the largest": (masked(MAX), masked("shuffle")),
    "a total beside for whom a value is one": (masked("constant", when={"column": "pay", "equals": 10}, otherwise="empty"), masked(SUM)),
    "a total beside for whom a value is in a range": (
        masked("constant", when={"column": "pay", "at_least": 0, "below": 500}, otherwise="empty"),
        masked(SUM),
    ),
    "a total beside values that are capped": (masked({"top_bottom_code": {"top": 500}}), masked(by("ward", AVERAGE))),
    "a total beside noise": (masked({"noise": {"amount": 5}}), masked(SUM)),
    "a total beside means of neighbours": (masked({"microaggregate": {"k": 3}}), masked(SUM)),
    "largest values of two kinds of groups": (masked(by("sex", MAX)), masked(by("ward", MAX))),
    "a mode beside a largest value of other groups": (masked(by("ward", MAX)), masked(by("sex", MODE), on_invalid="remove")),
    "ciphertexts that are as long as values, in another order": (masked({"encrypt": {"key": "main"}}), masked("shuffle")),
    "a total beside a plain largest value": (masked(by("ward", MAX, plain=True, k=None)), masked(by("ward", SUM))),
}


@pytest.mark.parametrize(("one", "other"), SEVERAL_WAYS.values(), ids=SEVERAL_WAYS.keys())
def test_what_cannot_be_held_against_each_other_is_refused_before_anything_is_read(one: Any, other: Any) -> None:
    assert read_together(one, other) == {"policy-told-twice"}
    assert read_together(other, one) == {"policy-told-twice"}


@pytest.mark.parametrize(("one", "other"), SEVERAL_WAYS.values(), ids=SEVERAL_WAYS.keys())
def test_nobody_who_reads_one_view_alone_is_told_in_two_ways(one: Any, other: Any) -> None:
    assert read_together(one, other, readers={"clerk": ["one"], "boss": ["other"]}) == set()


COPY = {"expression": {"sql": "pay", "columns": ["pay"], "same_again": True}}
ONE_RELEASE = {
    "a total under a condition on what it adds up": {"pay": masked(AVERAGE, when={"column": "pay", "at_most": 500}, otherwise="empty")},
    "bands of a column that is shuffled": {
        "pay": masked("shuffle"),
        "again": masked([COPY, {"generalise": {"size": 100}}], accept="singling_out"),
    },
    "modes of all and of groups, some of which are removed": {
        "pay": masked(MODE, on_invalid="remove"),
        "again": masked([COPY, by("sex", MODE)], on_invalid="remove"),
    },
    "another column that is masked where a total's column is large": {
        "pay": masked(SUM),
        "sex": masked("constant", when={"column": "pay", "above": 500}),
    },
}


SHUFFLED = {"pay": masked("shuffle")}


def expression(sql: str, *columns: str) -> dict[str, Any]:
    return {"expression": {"sql": sql, "columns": list(columns), "same_again": True}}


ABOVE = expression("pay > 500", "pay")
ONE_RELEASE |= {
    "numbers of people who have the same value": SHUFFLED | {"again": masked({"aggregate": {"function": "count", "by": ["pay"]}})},
    "what comes behind a total": SHUFFLED | {"again": masked([SUM, ABOVE])},
    "what comes behind what tells nothing": SHUFFLED | {"again": masked([{"constant": {"value": "z"}}, ABOVE])},
    "who is left out of a number of people": SHUFFLED
    | {"again": masked([expression("case when pay > 500 then 1 end", "pay"), {"aggregate": {"function": "count"}}])},
    "a condition in an expression before a mean": {"pay": masked([expression("case when pay >= 500 then pay end"), AVERAGE])},
    "digits that nothing else reaches": {"pay": masked([expression("1000000000 + pay * (100 ** 3)"), SUM])},
    "means of values and of capped ones": {
        "pay": masked(AVERAGE),
        "again": masked([COPY, {"top_bottom_code": {"top": 500}}, AVERAGE]),
    },
    "extremes of chosen people": {
        "pay": masked([expression("case when ward = 'A' then pay else 99999 end", "ward"), MAX]),
    },
    "pseudonyms that chance has moved": SHUFFLED | {"again": masked([COPY, {"tokenise": {"vault": "my.vault"}}, {"noise": {"amount": 1}}])},
    "some values that are swapped beside a total": {"pay": masked({"swap": {"share": 0.5}}), "again": masked([COPY, SUM])},
    "who has no value any more behind what tells nothing": SHUFFLED
    | {"again": masked([expression("case when pay > 500 then 1 end", "pay"), {"random_text": {"length": 4}}])},
    "who is not in a mapping, behind a number of people": SHUFFLED
    | {"again": masked([COPY, {"map_values": {"mapping": {"990": "x"}}}, {"aggregate": {"function": "count"}}], on_invalid="remove")},
    "an extreme whose value is shuffled among those who have it": {
        "pay": masked([by("ward", MAX), {"shuffle": {"within": ["ward"]}}]),
        "again": masked([COPY, "shuffle"]),
    },
    "a cast that only small numbers pass": SHUFFLED | {"again": masked([expression("pay::utinyint", "pay"), SUM], on_invalid="remove")},
    "digits that a mapping gives": {"pay": masked([{"map_values": {"mapping": {"10": "1001", "120": "1010"}}}, SUM], on_invalid="remove")},
    "values of all others beside a mode": {
        "pay": masked("constant", when={"column": "pid", "one_of": ["p0", "p1"]}),
        "again": masked([COPY, MODE]),
    },
}


@pytest.mark.parametrize("columns", ONE_RELEASE.values(), ids=ONE_RELEASE.keys())
def test_one_release_tells_of_a_column_in_one_way(columns: dict[str, Any]) -> None:
    assert codes({"columns": columns}) == {"policy-told-twice"}


def test_ends_of_classes_beside_a_total_are_refused() -> None:
    views = {
        "classes": {"columns": {"pay": {"role": "quasi_identifier"}}, "promises": [{"k_anonymity": {"k": 2}}]},
        "totals": {"columns": {"pay": masked(by("ward", SUM))}},
    }
    assert codes({"views": views, "readers": {"clerk": ["classes", "totals"]}}) == {"policy-told-twice"}


def test_what_moves_as_one_is_told_as_one() -> None:
    moved = masked({"shuffle": {"together": "places"}})
    views = {"one": {"columns": {"pay": moved, "ward": moved}}, "other": {"columns": {"pay": {"role": "identifier"}}}}
    assert codes({"views": views, "readers": {"clerk": ["one", "other"]}}) == {"policy-told-twice"}


def test_values_without_all_that_tells_whose_they_are_stand_beside_no_others() -> None:
    alone = {"pid": {"role": "identifier"}, "sex": {"role": "identifier"}}
    views = {"alone": {"columns": alone}, "moved": {"columns": {"pay": masked({"shuffle": {"within": ["sex"]}})}}}
    assert codes({"views": views, "readers": {"clerk": ["alone", "moved"]}}) == {"policy-told-twice"}


def test_what_is_accepted_of_one_view_is_not_accepted_of_others() -> None:
    views = {
        "one": {"columns": {"pay": masked(MAX, accept="inference")}},
        "two": {"columns": {"pay": masked(MAX)}},
        "three": {"columns": {"pay": masked(BANDS)}},
    }
    assert codes({"views": views, "readers": {"clerk": list(views)}}) == {"policy-told-twice"}


def test_a_mask_that_only_keeps_is_none() -> None:
    views = {
        "classes": {"columns": {"pay": {"role": "quasi_identifier", "mask": "keep"}}, "promises": [{"k_anonymity": {"k": 2}}]},
        "totals": {"columns": {"pay": masked(by("ward", SUM))}},
    }
    assert codes({"views": views, "readers": {"clerk": ["classes", "totals"]}}) == {"policy-told-twice"}
    assert read_together(masked("keep", accept="singling_out"), masked(MAX)) == set()


HELD = {
    "totals of two kinds of groups": (masked(by("ward", SUM)), masked(AVERAGE)),
    "total, smallest and largest of the same people": (masked(by("ward", SUM)), masked(by("ward", MAX))),
    "a total beside nothing": (masked("constant"), masked(by("ward", SUM))),
    "a total beside ciphertexts": (masked({"random_number": {"minimum": 0, "maximum": 9}}), masked(by("ward", SUM))),
    "a total of those of whom there is a value": (masked("constant", when={"column": "pay", "missing": False}), masked(by("ward", SUM))),
    "values that are shown": (OTHER, masked(MAX)),
    "a mean beside a median of the same people": (masked(by("ward", AVERAGE)), masked({"aggregate": {"function": "median", "by": ["ward", "ward"]}})),
    "a mean of capped values": (masked({"entity_tag": {"kind": "pay"}}), masked([{"top_bottom_code": {"top": 500}}, by("ward", AVERAGE)])),
    "a total of some beside the values of the others": (
        masked(by("ward", SUM), when={"column": "sex", "equals": "f"}, on_invalid="remove"),
        masked(by("ward", SUM)),
    ),
    "a mean where a condition on another column holds, and bands of the others": (
        masked(AVERAGE, when={"column": "sex", "equals": "f"}, otherwise=BANDS),
        masked("empty"),
    ),
    "a yearly total": (masked("empty"), masked([expression("cast(pay as double) * 12"), by("ward", SUM)])),
    "two means of the same values, one of them a copy": (masked(by("ward", SUM)), masked([expression("pay::int"), AVERAGE])),
}


@pytest.mark.parametrize(("one", "other"), HELD.values(), ids=HELD.keys())
def test_what_is_worked_out_is_looked_at_with_the_data(one: Any, other: Any) -> None:
    assert read_together({**one, "accept": "singling_out"}, {**other, "accept": "singling_out"}) == set()


@pytest.mark.parametrize("where", ["column", "policy"])
def test_what_is_known_to_follow_can_be_accepted_and_is_told(where: str) -> None:
    known = {"accept": "inference"}
    pay = masked("shuffle", **(known if where == "column" else {}))
    policy = {"columns": {"pay": pay, "band": masked([COPY, {"generalise": {"size": 100}}])}, **(known if where == "policy" else {})}
    record = sfumato.run(policy, pa.table({"pay": [1, 120, 130, 240], "band": ["x"] * 4})).record
    told = "of pay it is told its values in another order (column pay) beside a part of each value (column band)"
    assert [note for note in record.notes if note.startswith(told)] == [f"{told}: more may follow of few people than was looked for"]


def test_the_refusal_says_where_and_what_to_do() -> None:
    views = {"one": {"columns": {"pay": masked(BANDS)}}, "other": {"columns": {"pay": masked(SUM)}}}
    with pytest.raises(PolicyError) as caught:
        sfumato.run({"columns": {"pay": OTHER}, "views": views, "readers": {"clerk": ["one", "other"]}}, pa.table({"pay": [1, 2, 3]}))
    (mistake,) = caught.value.mistakes
    assert mistake.key == "views.other.columns.pay.mask"
    assert mistake.message == (
        "of pay it is told a total (column pay of the view other) beside a part of each value (column pay of the view one): "
        "what follows from both of few people cannot be worked out"
    )
    assert mistake.hint == "tell it in one way, let nobody read both, or accept: inference in views.other.columns.pay, if that is known"


PAYS = {"name": list("abcdefghi"), "diag": ["flu"] * 3 + ["hiv"] * 3 + ["gout"] * 3, "pay": [101, 213, 327, 440, 559, 661, 777, 885, 999]}
NAMED = {"role": "other", "accept": "singling_out"}
GONE = {"role": "identifier"}
BY_DIAG = masked({"aggregate": {"function": "sum", "by": ["diag"], "k": 3, "dominance": 0.9}})


def refused(views: dict[str, Any], **policy: Any) -> list[str]:
    """Return what is wrong with two views of names, diagnoses and pays that one reader has."""
    given = {"columns": {"name": NAMED, "diag": OTHER, "pay": NAMED}, "views": views, "readers": {"head": list(views)}, **policy}
    try:
        sfumato.run(given, pa.table(PAYS))
    except PolicyError as error:
        return [mistake.code for mistake in error.mistakes]
    return []


@pytest.mark.parametrize("diag", ["kept", "mapped", "shortened", "computed"])
def test_totals_of_groups_beside_the_values_of_named_people_tell_who_is_in_which(diag: str) -> None:
    masks: dict[str, Any] = {
        "mapped": {"map_values": {"mapping": {"flu": "virus", "hiv": "immune", "gout": "joints"}}},
        "shortened": {"shorten": {"length": 20}},
        "computed": {"expression": {"sql": "upper(diag)"}},
    }
    shown = masked(masks[diag]) if diag in masks else OTHER
    views = {"hr": {"columns": {"diag": GONE}}, "stats": {"columns": {"name": GONE, "diag": shown, "pay": BY_DIAG}}}
    assert refused(views) == ["policy-told-twice"]


def test_totals_that_follow_from_what_a_view_shows_anyway_may_be_read_beside_it() -> None:
    # the first view has all pays with all diagnoses: the mean of each follows, whatever else the other shows
    other = {"columns": {"name": masked({"shorten": {"length": 1}}, accept="singling_out"), "pay": BY_DIAG}}
    assert refused({"hr": {}, "stats": other}) == []


@pytest.mark.parametrize("pay", [masked(BANDS), masked("constant", when={"column": "name", "equals": "a"}), masked({"noise": {"amount": 5}})])
def test_bounds_of_named_people_beside_all_values_tell_who_is_alone_in_them(pay: Any) -> None:
    alone = {"columns": {"name": GONE, "diag": GONE}}
    assert refused({"staff": {"columns": {"pay": {**pay, "accept": "singling_out"}}}, "pays": alone}) == ["policy-told-twice"]
    # nothing is learnt of pays by who has them before one's eyes
    assert refused({"staff": {"columns": {"pay": {**pay, "accept": "singling_out"}}}, "all": {}}) == []


def test_pseudonyms_may_be_read_beside_the_values() -> None:
    keys = {"main": {"environment": "WAYS_KEY"}}
    hashed = masked({"hash": {"key": "main"}}, accept="singling_out")
    assert refused({"one": {"columns": {"pay": hashed, "name": GONE}}, "other": {"columns": {"diag": GONE}}}, keys=keys) == []


def test_who_is_alone_is_not_shown_by_a_shuffle_that_removes_him() -> None:
    table = pa.table({"name": list("abcdefghi"), "ward": list("AAAABBBBB"), "sex": list("ffffmmmmf"), "pay": PAYS["pay"]})
    apart = masked({"shuffle": {"within": ["ward", "sex"]}}, on_invalid="remove")
    views = {"a": {}, "b": {"columns": {"name": GONE, "ward": GONE, "sex": GONE, "pay": masked("shuffle")}}}
    policy = {"columns": {"name": NAMED, "ward": OTHER, "sex": OTHER, "pay": apart}, "views": views, "readers": {"boss": ["a", "b"]}}
    with pytest.raises(PromiseError) as raised:
        sfumato.run(policy, table)
    assert raised.value.code == "aggregate-difference"


def test_tokens_in_the_order_of_rows_may_not_stand_in_two_views_of_one_reader(tmp_path: Path) -> None:
    def tokens(name: str) -> dict[str, Any]:
        return masked({"tokenise": {"order": "sequence", "vault": str(tmp_path / name)}}, accept="singling_out")

    views = {"one": {"columns": {"name": tokens("n"), "pay": GONE}}, "other": {"columns": {"name": GONE, "pay": tokens("p")}}}
    assert refused(views) == ["policy-told-twice"]
    assert refused(views, readers={}) == []


HARMLESS = [
    "price::int * qty::int",
    "price::decimal(10, 2) + qty",
    'cast("price" as double) / 12 - qty',
    "2024 - year(born::date)",
    "date_diff('day', born::date, died::date)",
    "try_cast(price as int)",
    "made::decimal(10, 2) + 1",
]
ASKING = ["if(price > 3, 1, 0)", "price % 10", "price // 10", "price ** 2", "length(price::text)", "price * (qty = 1)::int", 'mod("price", 10)']


@pytest.mark.parametrize(("sql", "codes"), [*((sql, []) for sql in HARMLESS), *((sql, ["policy-told-twice"]) for sql in ASKING)])
def test_arithmetic_may_come_before_a_total_and_what_asks_of_values_may_not(sql: str, codes: list[str]) -> None:
    names = ["price", "qty", "born", "died"]
    days = {"born": ["1990-01-31"] * 9, "died": [f"2020-02-{day:02}" for day in range(1, 10)]}
    table = pa.table({"ward": list("AAAABBBBB"), "made": ["10", "11", "12"] * 3, "price": [3, 4, 5] * 3, "qty": [1, 2, 3] * 3, **days})
    reads = [name for name in names if name in sql]
    made = masked([{"expression": {"sql": sql, "columns": reads}}, by("ward", AVERAGE, dominance=0.9)])
    found: list[str] = []
    try:
        sfumato.run({"columns": {"ward": OTHER, "made": made, **dict.fromkeys(names, GONE)}}, table)
    except PolicyError as error:
        found = list({mistake.code for mistake in error.mistakes})
        assert all("add up columns as they are" in str(mistake.hint) for mistake in error.mistakes)
    assert found == codes


def test_what_is_accepted_of_several_views_is_told_by_plan_and_records() -> None:
    views = {"staff": {"columns": {"pay": masked(BANDS, accept=["singling_out", "inference"])}}, "pays": {"columns": {"name": GONE, "diag": GONE}}}
    policy = {"columns": {"name": NAMED, "diag": OTHER, "pay": NAMED}, "views": views, "readers": {"head": ["staff", "pays"]}}
    words = "of pay it is told a part of each value (column pay of the view staff) beside its values, without all that tells whose they are"
    for release in sfumato.run(policy, pa.table(PAYS)).values():
        assert len([note for note in release.record.notes if note.startswith(words)]) == 1
    assert any(words in step for step in sfumato.plan(policy, pa.table(PAYS)).together)


@pytest.mark.parametrize("function", ["average", "max", "median", "mode"])
def test_no_note_says_that_all_of_a_group_have_the_same(function: str) -> None:
    table = pa.table({"ward": list("AAABBB"), "pay": [5, 5, 5, 7, 7, 7]})
    pay = masked({"aggregate": {"function": function, "by": ["ward"], "k": 3, "dominance": 0.9}})
    assert not [note for note in sfumato.run({"columns": {"ward": OTHER, "pay": pay}}, table).record.notes if "changed no value" in note]


KEYS = {"main": {"environment": "WAYS_KEY"}}
HASH: dict[str, Any] = {"hash": {"key": "main"}}
ALONE = {"columns": {"name": GONE, "diag": GONE}}
UNNAMED = {"columns": {"name": GONE}}


def summed(function: str) -> dict[str, Any]:
    return masked({"aggregate": {"function": function, "by": ["diag"], "k": 2, "dominance": 0.9}}, accept="singling_out")


@pytest.mark.parametrize("pay", [summed("sum"), summed("count"), masked({"shuffle": {"within": ["diag"]}}, on_invalid="remove")])
def test_who_is_in_a_group_is_seen_by_what_is_told_of_it(pay: Any) -> None:
    assert {*refused({"one": {"columns": {"diag": GONE, "pay": pay}}, "other": UNNAMED})} == {"policy-told-twice"}


FINE = [
    {"expression": {"sql": "pay * 12"}},
    {"round_number": {"base": 1}},
    {"generalise": {"size": 1}},
    {"shorten": {"length": 20}},
    [{"expression": {"sql": "case when pay::int > 900 then pay end"}}, HASH],
    [{"top_bottom_code": {"bottom": 900}}, HASH],
    {"encrypt": {"key": "main"}},
]


@pytest.mark.parametrize("mask", FINE, ids=str)
def test_bands_of_named_people_beside_finer_ones_of_unnamed_tell_theirs(mask: Any) -> None:
    fine = {"columns": {"name": GONE, "diag": GONE, "pay": masked(mask, accept="singling_out")}}
    bands = {"columns": {"pay": masked(BANDS, accept="singling_out")}}
    assert refused({"staff": bands, "pays": fine}, keys=KEYS) == ["policy-told-twice"]


@pytest.mark.parametrize(
    "mask",
    [
        [{"top_bottom_code": {"top": 900, "beyond": "label"}}, AVERAGE],
        [{"generalise": {"size": 900, "minimum": 0, "maximum": 899}}, MODE],
        [{"expression": {"sql": "case when pay::int > 150 then pay end"}}, {"aggregate": {"function": "count", "k": 3}}],
    ],
    ids=str,
)
def test_who_is_missing_from_a_total_is_seen_beside_all_values(mask: Any) -> None:
    staff = {"columns": {"pay": masked(mask, accept="singling_out", on_invalid="remove")}}
    assert refused({"staff": staff, "pays": ALONE}) == ["policy-told-twice"]


def test_what_is_asked_behind_a_total_is_seen_beside_all_values() -> None:
    asked = masked([{"aggregate": {"function": "count", "k": 3}}, {"expression": {"sql": "pay::int > 900", "columns": ["pay"]}}])
    assert refused({"staff": {"columns": {"diag": asked, "pay": GONE}}, "pays": ALONE}) == ["policy-told-twice"]


@pytest.mark.parametrize("sql", ["cost / qty", "sign(cost - 85)"])
def test_what_fails_or_only_looks_like_arithmetic_asks_of_values(sql: str) -> None:
    table = pa.table({"ward": list("AAABBB"), "cost": [5, 6, 7, 8, 9, 9], "qty": [1, 2, 0, 3, 4, 5], "sign": ["1"] * 6})
    made = masked([{"expression": {"sql": sql, "columns": ["cost", "qty"]}}, by("ward", AVERAGE, dominance=0.9)], on_invalid="remove")
    columns = {"ward": OTHER, "cost": GONE, "qty": GONE, "sign": made}
    with pytest.raises(PolicyError) as raised:
        sfumato.run({"columns": columns}, table)
    assert {mistake.code for mistake in raised.value.mistakes} == {"policy-told-twice"}


@pytest.mark.parametrize("sql", ["pay * 1e3", "rows.pay * 2", "pay / 12"])
def test_arithmetic_is_known_however_it_is_written(sql: str) -> None:
    made = masked([{"expression": {"sql": sql}}, by("ward", AVERAGE, dominance=0.9)], on_invalid="remove")
    assert sfumato.run({"columns": {"ward": OTHER, "pay": made}}, pa.table({"ward": ["A"] * 4, "pay": [5, 6, 7, 9]})).record.rows.out == 4


def test_a_mask_that_both_views_have_is_shown_by_both() -> None:
    bands = {"columns": {"name": GONE, "pay": masked(BANDS, accept="singling_out")}}
    first_letter = masked({"shorten": {"length": 1}})
    columns = {"name": NAMED, "diag": first_letter, "pay": NAMED}
    assert refused({"hr": {}, "stats": bands}, columns=columns) == []
    assert refused({"hr": {}, "stats": bands}, columns={**columns, "diag": masked(HASH)}, keys=KEYS) == []


def test_rows_that_are_joined_by_purpose_may_show_a_value_and_a_part_of_it() -> None:
    bands = {"columns": {"pay": masked(BANDS, accept="singling_out")}}
    assert refused({"payroll": {"columns": {"diag": GONE}}, "ward": bands}) == []


def test_the_refusal_names_what_the_other_view_lacks() -> None:
    views = {"staff": {"columns": {"pay": masked(BANDS, accept="singling_out")}}, "pays": ALONE}
    policy = {"columns": {"name": NAMED, "diag": OTHER, "pay": NAMED}, "views": views, "readers": {"head": list(views)}}
    with pytest.raises(PolicyError, match=r"of the view pays\), which does not show diag, name as staff does"):
        sfumato.run(policy, pa.table(PAYS))


@pytest.mark.parametrize("mask", ["shuffle", {"swap": {"share": 0.1}}, {"noise": {"amount": 0.001}}])
def test_no_note_says_that_chance_left_all_of_a_few_as_they_were(mask: Any) -> None:
    for _ in range(12):
        record = sfumato.run({"columns": {"name": NAMED, "pay": masked(mask)}}, pa.table({"name": ["a", "b"], "pay": [5, 7]})).record
        assert not [note for note in record.notes if "changed no value" in note or "as they were" in note]


def test_nobody_is_said_to_keep_a_value_that_was_removed() -> None:
    table = pa.table({"ward": list("AAAB"), "pay": [1, 2, 3, 4]})
    pay = masked({"shuffle": {"within": ["ward"]}}, on_invalid="remove")
    notes = sfumato.run({"columns": {"ward": OTHER, "pay": pay}}, table).record.notes
    assert not [note for note in notes if "keep their own value" in note]
