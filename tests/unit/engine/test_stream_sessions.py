"""Sessions: records in, releases out."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato
from sfumato.core.stream import Accounts
from sfumato.engine.stream.dead_letters import DeadLetter
from sfumato.engine.stream.release import Pushed
from sfumato.errors import DataError, PolicyError, PromiseError, UsageError

SECRET = bytes(range(32))
COLUMNS: dict[str, Any] = {
    "person": {"role": "identifier"},
    "age": {"role": "quasi_identifier", "type": "integer"},
    "illness": {"role": "sensitive"},
}


def policy(window: dict[str, Any] | None = None, k: int = 2, **other: Any) -> dict[str, Any]:
    given = {"subject": "person", "columns": COLUMNS, "promises": [{"k_anonymity": {"k": k}}], "window": window or {"count": 4}}
    return {key: value for key, value in (given | other).items() if value is not None}


def records(ages: list[int | None], first: int = 0) -> list[dict[str, Any]]:
    return [{"person": f"p{first + place}", "age": age, "illness": "flu" if place % 2 else "cold"} for place, age in enumerate(ages)]


def ages_of(pushed: Pushed) -> list[list[str]]:
    return [sorted(release.batch.column("age").to_pylist(), key=str) for release in pushed]


def check(session: sfumato.Session, **accounts: int) -> None:
    assert session.accounts == Accounts(**accounts)


def test_a_window_of_records_is_released_when_it_is_full() -> None:
    session = sfumato.stream(policy())

    assert session.push(records([20, 21, 40])) == []
    check(session, held=3)
    pushed = session.push(records([41, 50], first=3))

    assert ages_of(pushed) == [["[20, 21]", "[20, 21]", "[40, 41]", "[40, 41]"]]
    assert sorted(pushed[0].numbers.tolist()) == [0, 1, 2, 3]
    check(session, released=4, held=1)


def test_one_push_can_fill_several_windows() -> None:
    pushed = sfumato.stream(policy({"count": 2})).push(records([20, 30, 40, 50, 60]))

    assert ages_of(pushed) == [["[20, 30]"] * 2, ["[40, 50]"] * 2]
    assert [sorted(set(release.clusters.tolist())) for release in pushed] == [[0], [1]]


def test_people_are_counted_and_not_records() -> None:
    session = sfumato.stream(policy({"count": 2}))
    both = [{"person": "ada", "age": 20, "illness": "flu"}, {"person": "ada", "age": 21, "illness": "cold"}]

    assert session.push(both) == []
    pushed = session.push([{"person": "ben", "age": 30, "illness": "flu"}, {"person": "ben", "age": 31, "illness": "flu"}])

    assert ages_of(pushed) == [["[20, 31]"] * 4]


def test_a_small_window_waits_for_the_next_one() -> None:
    session = sfumato.stream(policy({"count": 2}, k=3))

    assert session.push(records([20, 30])) == []
    check(session, held=2)
    assert session.measured()["windows_carried"] == 1
    assert ages_of(session.push(records([40, 50], first=2))) == [["[20, 50]"] * 4]


def test_a_small_window_is_left_out_where_the_policy_says_so() -> None:
    session = sfumato.stream(policy({"count": 2, "on_small": "suppress"}, k=3))

    pushed = session.push(records([20, 30]))

    assert pushed == []
    assert pushed.suppressed.tolist() == [0, 1]
    check(session, suppressed=2)


def test_what_is_carried_is_left_out_when_too_much_is_held() -> None:
    session = sfumato.stream(policy({"count": 2, "most": 4}, k=3))
    alone = [{"person": "ada", "age": age, "illness": "flu"} for age in range(20, 26)]

    pushed = session.push(alone)

    assert pushed == []
    assert pushed.suppressed.tolist() == [0, 1, 2, 3]
    check(session, suppressed=4, held=2)


def test_a_window_that_cannot_keep_l_diversity_is_not_released() -> None:
    promises = [{"k_anonymity": {"k": 2}}, {"l_diversity": {"column": "illness", "l": 2}}]
    session = sfumato.stream(policy({"count": 2}, promises=promises))
    same = [{"person": f"p{place}", "age": 20 + place, "illness": "flu"} for place in range(2)]

    assert session.push(same) == []
    pushed = session.push(records([30, 40], first=5))

    assert len(pushed) == 1
    # three have the flu, one a cold, and nobody has nothing
    assert pushed[0].references["illness"].tolist() == [3, 1, 0]


def test_flushing_releases_what_can_be_and_leaves_out_the_rest() -> None:
    session = sfumato.stream(policy({"count": 10}, k=2))
    session.push(records([20, 30, 40]))

    assert ages_of(session.flush()) == [["[20, 40]"] * 3]
    session.push(records([50], first=3))
    pushed = session.flush()

    assert pushed == []
    assert pushed.suppressed.tolist() == [3]
    check(session, released=3, suppressed=1)
    assert session.flush() == []


def test_flushing_before_anything_came_does_nothing() -> None:
    assert sfumato.stream(policy()).flush() == []


TIMED = {**COLUMNS, "at": {"role": "identifier", "type": "timestamp"}}


def timed(seconds: list[int | None], **other: Any) -> list[dict[str, Any]]:
    base = pd.Timestamp("2026-01-01T00:00:00Z")
    return [
        {
            "person": f"p{place}",
            "age": 20 + place,
            "illness": "flu",
            "at": None if second is None else (base + pd.Timedelta(seconds=second)).isoformat(),
        }
        | other
        for place, second in enumerate(seconds)
    ]


def test_a_window_of_time_is_released_when_it_is_over() -> None:
    session = sfumato.stream(policy({"time": "10s", "column": "at"}, columns=TIMED))

    assert session.push(timed([1, 12, 5])[:2]) == []
    late = session.push(timed([0, 0, 5])[2:])
    assert late.late.tolist() == [2]
    pushed = session.push(timed([3, 13, 14, 20])[1:])

    # the first window was of one person, and was carried into the second
    assert ages_of(pushed) == [["[20, 22]"] * 4]
    check(session, released=4, late=1, held=1)


def test_a_late_record_can_go_into_the_window_that_is_open() -> None:
    given = policy({"time": "10s", "column": "at"}, columns=TIMED, stream={"on_late": "next"})
    session = sfumato.stream(given)
    session.push(timed([12, 5]))
    check(session, held=2)

    assert len(session.push(timed([20]))) == 1
    check(session, released=2, held=1)


def test_a_record_without_a_time_or_with_one_that_cannot_be_read_is_a_dead_letter() -> None:
    session = sfumato.stream(policy({"time": "10s", "column": "at"}, columns=TIMED))

    pushed = session.push([*timed([1, None]), *timed([2], at="soon")])

    assert [(letter.number, letter.code, letter.column) for letter in pushed.dead] == [(1, "time-missing", "at"), (2, "value-type", "at")]
    check(session, dead=2, held=1)


def test_numbers_are_times_in_the_unit_that_the_policy_says() -> None:
    columns = {**COLUMNS, "at": {"role": "identifier", "type": "integer"}}
    session = sfumato.stream(policy({"time": "1s", "column": "at", "unit": "ms"}, columns=columns))

    pushed = session.push([record | {"at": at} for record, at in zip(records([20, 30, 40]), [100, 999, 1000], strict=True)])

    assert ages_of(pushed) == [["[20, 30]"] * 2]


def test_text_that_is_no_time_is_refused_at_the_first_records() -> None:
    columns = {**COLUMNS, "at": {"role": "identifier"}}
    session = sfumato.stream(policy({"time": "1s", "column": "at"}, columns=columns))

    with pytest.raises(PolicyError) as caught:
        session.push([records([20])[0] | {"at": "on Monday"}])

    assert caught.value.mistakes[0].code == "policy-window-time"
    check(session)


def test_sessions_of_people_are_released_when_they_have_ended() -> None:
    session = sfumato.stream(policy({"session": "10s", "column": "at"}, columns=TIMED))
    session.push(timed([0, 1, 5]))
    check(session, held=3)
    # the sessions end at 10, 11 and 15 s, which is the stretch up to 20 s
    assert session.push(timed([19], person="z")) == []

    pushed = session.push(timed([20], person="y"))

    assert ages_of(pushed) == [["[20, 22]"] * 3]
    check(session, released=3, held=2)


def test_a_window_that_holds_too_many_ends_early() -> None:
    session = sfumato.stream(policy({"time": "1d", "column": "at", "most": 3}, columns=TIMED))

    pushed = session.push(timed([0, 1, 2, 3]))

    assert ages_of(pushed) == [["[20, 21]"] * 2 + ["[22, 23]"] * 2]
    check(session, released=4)


def test_records_leave_at_once_where_nothing_is_generalised() -> None:
    columns = {"person": {"role": "identifier"}, "note": {"role": "other", "mask": {"shorten": {"length": 2}}}}
    session = sfumato.stream({"columns": columns})

    pushed = session.push([{"person": "ada", "note": "hello"}, {"person": "ben", "note": "good"}])

    assert sorted(pushed[0].batch.column("note").to_pylist()) == ["go", "he"]
    assert pushed[0].clusters.tolist() == [-1, -1]
    check(session, released=2)


KINDS = {
    "list": lambda rows: rows,
    "table": pa.Table.from_pylist,
    "batch": pa.RecordBatch.from_pylist,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
}


@pytest.mark.parametrize("kind", KINDS)
def test_records_come_in_many_forms(kind: str) -> None:
    session = sfumato.stream(policy(), secret=SECRET)

    pushed = session.push(KINDS[kind](records([20, 21, 40, 41])))

    assert ages_of(pushed) == [["[20, 21]", "[20, 21]", "[40, 41]", "[40, 41]"]]
    assert pushed[0].batch.schema.names == ["age", "illness"]


def test_what_is_no_table_is_refused() -> None:
    session = sfumato.stream(policy())

    with pytest.raises(UsageError, match="no table"):
        session.push(17)
    with pytest.raises(UsageError, match="records in a list are mappings"):
        session.push([1, 2])


def test_a_value_of_another_type_is_a_dead_letter_without_its_value() -> None:
    session = sfumato.stream(policy({"count": 2}))
    session.push(records([20]))

    pushed = session.push([{"person": "x", "age": "a secret", "illness": "flu"}, {"person": "y", "age": "30", "illness": "flu"}])

    assert [(letter.number, letter.code, letter.column) for letter in pushed.dead] == [(1, "value-type", "age")]
    assert ages_of(pushed) == [["[20, 30]"] * 2]
    assert "secret" not in repr(pushed.dead)
    check(session, released=2, dead=1)


def test_a_record_with_a_column_that_nobody_named_is_a_dead_letter() -> None:
    session = sfumato.stream(policy({"count": 2}))

    pushed = session.push([*records([20, 30]), {"person": "x", "age": 40, "illness": "flu", "name": "Ada"}])

    assert [(letter.number, letter.code) for letter in pushed.dead] == [(2, "columns-differ")]
    check(session, released=2, dead=1)


def test_columns_that_nobody_named_may_be_removed() -> None:
    pushed = sfumato.stream(policy({"count": 2}, unnamed="remove")).push([record | {"name": "Ada"} for record in records([20, 30])])

    assert pushed[0].batch.schema.names == ["age", "illness"]


def test_a_table_of_another_schema_in_mid_stream_is_set_aside() -> None:
    session = sfumato.stream(policy())
    session.push(pa.Table.from_pylist(records([20, 30])))

    pushed = session.push(pa.Table.from_pylist(records([40])).drop_columns(["age"]))

    assert [letter.code for letter in pushed.dead] == ["columns-differ"]
    check(session, dead=1, held=2)


def test_a_first_table_of_other_columns_is_an_error() -> None:
    session = sfumato.stream(policy())

    with pytest.raises(DataError) as caught:
        session.push(pa.Table.from_pylist([{"person": "ada", "years": 20, "illness": "flu"}]))

    assert caught.value.code == "columns-differ"
    check(session)


def test_the_policy_may_ask_for_an_error_instead_of_dead_letters() -> None:
    session = sfumato.stream(policy(stream={"on_unfit": "error"}))
    session.push(records([20]))

    with pytest.raises(DataError) as caught:
        session.push([{"person": "x", "age": "a secret", "illness": "flu"}])

    assert caught.value.code == "stream-unfit"
    assert caught.value.message == "1 of the records does not fit, the first is record 1: value-type in column age"
    check(session, held=1)


def test_nested_records_are_read_as_documents() -> None:
    columns = {"person": {"role": "identifier"}, "visit": {"role": "other", "mask": {"nested": {"paths": {"$.ward": "constant"}, "others": "keep"}}}}
    session = sfumato.stream({"columns": columns})

    pushed = session.push([{"person": "ada", "visit": {"ward": "A", "beds": [1, 2]}}])

    assert pushed[0].batch.column("visit").to_pylist() == ['{"ward":"*","beds":[1,2]}']


def test_a_value_that_a_mask_cannot_take_is_a_dead_letter() -> None:
    columns = COLUMNS | {"card": {"role": "other", "mask": {"round_number": {"base": 10}}, "accept": "singling_out"}}
    session = sfumato.stream(policy({"count": 2}, columns=columns))

    pushed = session.push([record | {"card": card} for record, card in zip(records([20, 30, 40]), ["17", "many", "23"], strict=True)])

    assert [(letter.number, letter.code, letter.column) for letter in pushed.dead] == [(1, "mask-invalid", "card")]
    assert sorted(pushed[0].batch.column("card").to_pylist()) == ["20", "20"]


def test_a_missing_quasi_identifier_is_published_as_missing_or_as_everything() -> None:
    pushed = sfumato.stream(policy({"count": 4})).push(records([None, None, 30, 31]))

    assert ages_of(pushed) == [[None, None, "[30, 31]", "[30, 31]"]]


def test_an_unknown_value_does_what_the_policy_says() -> None:
    taxonomy = {"taxonomy": {"tree": {"colour": ["red", "blue"], "red": ["pink", "ruby"], "blue": ["navy", "sky"]}}}
    for on_unknown, account in {"error": "dead", "suppress": "suppressed", "generalise": "released"}.items():
        columns = COLUMNS | {"age": {"role": "quasi_identifier", "hierarchy": taxonomy, "on_unknown": on_unknown}}
        session = sfumato.stream(policy({"count": 3}, columns=columns))

        colours = zip(records([0, 0, 0]), ["pink", "ruby", "green"], strict=True)
        pushed = session.push([record | {"age": colour} for record, colour in colours])

        check(session, **({"released": 3} if account == "released" else {"released": 2, account: 1}))
        shown = set(pushed[0].batch.column("age").to_pylist())
        assert shown == ({"*"} if account == "released" else {"red"})


DAYS = ["2026-01-01", "2026-01-03", "2026-05-01", "2026-05-09"]


def test_unknown_values_alone_in_a_class_are_everything_and_not_missing() -> None:
    ladder = {"interval": {"minimum": 0, "maximum": 120}}
    columns = COLUMNS | {"age": {"role": "quasi_identifier", "type": "integer", "hierarchy": ladder, "on_unknown": "generalise"}}

    pushed = sfumato.stream(policy(columns=columns)).push(records([200, 300, 30, 31]))

    assert ages_of(pushed) == [["*", "*", "[30, 31]", "[30, 31]"]]


@pytest.mark.parametrize(
    ("column", "values", "shown"),
    [
        ({"type": "decimal"}, ["1.5", "2.25", "9", "9.75"], {"[1.50, 2.25]", "[9.00, 9.75]"}),
        ({}, [1.5, 2.25, 9.0, 9.75], {"[1.5, 2.25]", "[9, 9.75]"}),
        ({"type": "date", "publish": "interval"}, DAYS, {"[2026-01-01, 2026-01-03]", "[2026-05-01, 2026-05-09]"}),
        ({"type": "date"}, DAYS, {"2026-01", "2026-05"}),
        ({"type": "ip"}, ["10.0.0.1", "10.0.0.2", "2001:db8::1", "2001:db8::2"], {"10.0.0.0/24", "2001:db8::/64"}),
        ({"type": "text", "hierarchy": {"prefix": {}}}, ["10961", "10967", "12047", "12049"], {"1096*", "1204*"}),
        ({"type": "integer", "hierarchy": {"interval": {"width": 10}}, "level": {"minimum": 1}}, [21, 22, 35, 36], {"[20, 29]", "[30, 39]"}),
    ],
)
def test_boxes_are_written_as_a_table_writes_them(column: dict[str, Any], values: list[Any], shown: set[str]) -> None:
    columns = COLUMNS | {"age": {"role": "quasi_identifier"} | column}
    rows = [record | {"age": value} for record, value in zip(records([0] * 4), values, strict=True)]

    pushed = sfumato.stream(policy({"count": 4}, columns=columns)).push(rows)
    table = sfumato.run({"columns": columns, "subject": "person", "promises": [{"k_anonymity": {"k": 2}}]}, data=pa.Table.from_pylist(rows))

    assert set(pushed[0].batch.column("age").to_pylist()) == shown
    assert set(table.table.column("age").to_pylist()) == shown  # type: ignore[union-attr]


def test_bounds_are_published_in_two_columns() -> None:
    for style, expected in (("bounds", [("20", "21"), ("40", "41")]), ("typed_bounds", [(20, 21), (40, 41)])):
        columns = COLUMNS | {"age": {"role": "quasi_identifier", "type": "integer", "publish": style}}

        batch = sfumato.stream(policy(columns=columns)).push(records([20, 21, 40, 41]))[0].batch

        pairs = zip(batch.column("age_from").to_pylist(), batch.column("age_to").to_pylist(), strict=True)
        assert sorted(set(pairs)) == expected


def test_a_number_that_floats_do_not_tell_apart_is_unknown() -> None:
    session = sfumato.stream(policy({"count": 2}))

    pushed = session.push(records([20, 2**53 + 1, 30, 40]))

    assert [(letter.number, letter.code) for letter in pushed.dead] == [(1, "value-type")]
    assert ages_of(pushed) == [["[20, 40]"] * 3]


def test_the_same_pieces_give_the_same_bytes_and_another_secret_another_order() -> None:
    rows = records(list(range(20, 60)))

    def out(secret: bytes) -> list[pa.RecordBatch]:
        session = sfumato.stream(policy({"count": 20}), secret=secret)
        return [release.batch for part in (rows[:15], rows[15:]) for release in session.push(part)]

    assert out(SECRET) == out(SECRET)
    assert out(SECRET) != out(bytes(32))


def test_masks_with_a_key_give_the_same_bytes_as_in_a_table(tmp_path: Any) -> None:
    (tmp_path / "key").write_text(f"one:{base64.b64encode(SECRET).decode()}\n")
    (tmp_path / "key").chmod(0o600)
    columns = {"person": {"role": "identifier", "mask": {"hash": {"key": "main"}}}, "note": {"role": "other"}}
    given = {"name": "ward", "columns": columns, "keys": {"main": {"file": str(tmp_path / "key")}}}
    rows = [{"person": name, "note": name} for name in ("ada", "ben", "cem")]

    batch = sfumato.stream(given).push(rows)[0].batch
    table = sfumato.run(given, data=pa.Table.from_pylist(rows)).table  # type: ignore[union-attr]

    assert sorted(batch.to_pylist(), key=str) == sorted(table.to_pylist(), key=str)


def test_aggregates_are_those_of_the_window() -> None:
    columns = {"person": {"role": "identifier"}, "pay": {"role": "other", "mask": {"aggregate": {"function": "average"}}}}
    session = sfumato.stream({"subject": "person", "columns": columns, "window": {"count": 3}})
    pays = [10, 20, 30, 1, 2, 3]

    pushed = session.push([{"person": f"p{place}", "pay": pay} for place, pay in enumerate(pays)])

    assert [release.batch.column("pay").to_pylist() for release in pushed] == [[20] * 3, [2] * 3]
    check(session, aggregated=6)


def test_groups_of_too_few_people_wait_for_the_next_window() -> None:
    mask = {"aggregate": {"function": "sum", "by": ["ward"]}}
    columns = {"person": {"role": "identifier"}, "ward": {"role": "other"}, "pay": {"role": "other", "mask": mask}}
    session = sfumato.stream({"subject": "person", "columns": columns, "window": {"count": 3}})

    first = session.push([{"person": f"p{place}", "ward": ward, "pay": 10} for place, ward in enumerate("AAB")])
    check(session, aggregated=2, held=1)
    second = session.push([{"person": f"q{place}", "ward": ward, "pay": 10} for place, ward in enumerate("BCC")])

    assert [sorted(release.batch.column("ward").to_pylist()) for release in (*first, *second)] == [["A", "A"], ["B", "B", "C", "C"]]
    assert sorted(second[0].batch.column("pay").to_pylist()) == [20] * 4


def test_shuffled_values_stay_within_their_window() -> None:
    columns = {"person": {"role": "identifier"}, "pay": {"role": "other", "mask": "shuffle"}}
    session = sfumato.stream({"subject": "person", "columns": columns, "window": {"count": 3}}, secret=SECRET)

    pushed = session.push([{"person": f"p{place}", "pay": place} for place in range(6)])

    assert [sorted(release.batch.column("pay").to_pylist()) for release in pushed] == [[0, 1, 2], [3, 4, 5]]


def test_a_column_that_singles_people_out_is_refused_with_the_first_release() -> None:
    columns = COLUMNS | {"number": {"role": "other"}}
    session = sfumato.stream(policy(columns=columns))
    # in a few rows values of any column occur once
    assert list(session.push([record | {"number": place} for place, record in enumerate(records([20, 21, 40, 41]))])) == []

    with pytest.raises(PromiseError) as caught:
        session.flush()

    assert caught.value.code == "singling-out"
    assert session.accounts.held == 4


@pytest.mark.parametrize(("towns", "later"), [(2, ["new"] * 20), (30, ["*"] * 20)])
def test_a_category_that_comes_later_joins_a_flat_ladder_and_not_groups(towns: int, later: list[str]) -> None:
    given = policy({"count": 60}, k=3, columns={"person": {"role": "identifier"}, "town": {"role": "quasi_identifier"}})
    session = sfumato.stream(given)
    session.push([{"person": f"p{number}", "town": f"town {chr(97 + number % towns)}"} for number in range(60)])

    come = ["new"] * 20 + ["town a"] * 40
    (release,) = session.push([{"person": f"p{number}", "town": town} for number, town in enumerate(come)])

    found = zip(release.batch.column("town").to_pylist(), release.numbers.tolist(), strict=True)
    assert [town for town, number in found if number < 60 + 20] == later


def test_a_refusal_names_the_view_and_where_it_says_so() -> None:
    columns = COLUMNS | {"number": {"role": "identifier"}}
    views = {"doctor": {"columns": {"number": {"role": "other"}}}, "nurse": {}}
    session = sfumato.stream(policy(columns=columns, views=views), view="doctor")

    session.push([record | {"number": place} for place, record in enumerate(records([20, 21, 40, 41]))])
    with pytest.raises(PromiseError) as caught:
        session.flush()

    assert caught.value.message == ("view doctor: most of the 4 values of column number that would be published occur once: it singles people out")
    accepting = "give it the role identifier or quasi_identifier, mask it, or say accept: singling_out in views.doctor.columns.number"
    assert caught.value.hint == (
        f"{accepting}; nothing was released yet: change the policy and run it again, and where that is refused, because records of the old one wait, "
        "with another folder, stream: {state: ...}"
    )


def test_a_record_that_stops_the_stream_of_a_view_names_the_view() -> None:
    session = sfumato.stream(policy(stream={"on_unfit": "error"}, views={"nurse": {}}), view="nurse")

    with pytest.raises(DataError) as caught:
        session.push([records([20])[0], records([20])[0] | {"age": "old"}])

    assert caught.value.message == "view nurse: 1 of the records does not fit, the first is record 1: value-type in column age"


def test_a_push_that_raises_leaves_the_state_as_it_was() -> None:
    columns = COLUMNS | {"number": {"role": "other"}}
    session = sfumato.stream(policy(columns=columns), secret=SECRET)
    session.push([records([20])[0] | {"number": 1}])
    before = session.snapshot()

    with pytest.raises(PromiseError):
        session.push([record | {"number": place} for place, record in enumerate(records([21, 40, 41] * 400, first=1))])

    assert session.snapshot() == before


def test_a_snapshot_goes_on_elsewhere_as_if_nothing_had_happened() -> None:
    rows = records(list(range(20, 50)))
    one, other = (sfumato.stream(policy({"count": 8}), secret=SECRET) for _ in range(2))
    one.push(rows[:13])
    other.restore(one.snapshot())

    assert other.accounts == one.accounts
    assert other.snapshot() == one.snapshot()
    assert [release.batch for release in other.push(rows[13:])] == [release.batch for release in one.push(rows[13:])]
    assert [release.batch for release in other.flush()] == [release.batch for release in one.flush()]


def test_a_state_of_something_else_is_refused() -> None:
    session = sfumato.stream(policy(), secret=SECRET)
    session.push(records([20]))
    state = session.snapshot()

    def refused(other: sfumato.Session, given: bytes) -> str:
        with pytest.raises(DataError) as caught:
            other.restore(given)
        assert caught.value.code == "stream-state"
        return caught.value.message

    assert refused(sfumato.stream(policy(k=3), secret=SECRET), state) == "what was given to be restored is of another policy"
    assert refused(sfumato.stream(policy(), secret=bytes(32)), state) == "what was given to be restored was written under another secret"
    assert refused(session, state[:-1]) == "what was given to be restored is damaged: it is not whole, or not as it was written"
    assert refused(session, b"nothing") == "what was given to be restored is no state of a session"


def test_a_state_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    session = sfumato.stream(policy(), secret=SECRET)
    with monkeypatch.context() as changed:
        changed.setattr("sfumato.engine.stream.session_state.VERSION", 7)
        state = session.snapshot()

    with pytest.raises(DataError) as caught:
        session.restore(state)

    assert caught.value.message == "what was given to be restored is of version 7, and this is version 3"


def test_the_order_of_rows_says_nothing_of_the_order_in_which_they_came() -> None:
    session = sfumato.stream(policy({"count": 200}), secret=SECRET)

    (release,) = session.push(records([20] * 200))

    assert not np.array_equal(release.numbers, np.sort(release.numbers))
    assert abs(np.corrcoef(release.numbers, np.arange(200))[0, 1]) < 0.3


def test_a_view_of_several_must_be_named() -> None:
    given = policy() | {"views": {"nurse": {}, "doctor": {"columns": {"age": {"role": "other"}}, "promises": []}}}
    with pytest.raises(UsageError, match="several views"):
        sfumato.stream(given)

    assert sfumato.stream(given, view="doctor").push(records([20]))[0].batch.column("age").to_pylist() == [20]


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(UsageError, match="16 bytes"):
        sfumato.stream(policy(), secret=b"short")


def test_masks_are_verified_on_rows_in_the_order_in_which_they_had_them() -> None:
    """Of four people with the same number three are one group, and the fourth is in another: who that is hangs on the order."""
    columns = COLUMNS | {"age": {"role": "other", "type": "decimal", "mask": {"microaggregate": {"k": 3}}}}
    session = sfumato.stream(policy({"count": 6}, columns=columns, promises=[]), secret=SECRET)

    for first in range(0, 60, 6):
        (release,) = session.push(records([1, 1, 1, 1, 9, 9], first=first))
        assert sorted(map(float, release.batch.column("age").to_pylist())) == pytest.approx([1.0, 1.0, 1.0, 19 / 3, 19 / 3, 19 / 3], abs=0.5)


@pytest.mark.parametrize("column", ["person", "illness", "age"])
def test_half_a_pair_of_surrogates_is_a_dead_letter(column: str) -> None:
    session = sfumato.stream(policy({"count": 2}))
    whole = [{"person": f"p{number}", "age": 30, "illness": "flu"} for number in range(2)]

    for place in range(2):
        pushed = session.push([whole[0], whole[1] | {column: "Qkxcanary\ud800"}])
        assert pushed.dead == [DeadLetter(2 * place + 1, "value-type", column)]


@pytest.mark.parametrize("window", [{"time": "10s"}, {"session": "10s"}, {"time": "36525d", "lateness": "36525d"}])
@pytest.mark.parametrize("kind", ["integer", "decimal"])
def test_times_beyond_the_calendar_are_dead_letters_in_every_window(window: dict[str, str], kind: str) -> None:
    columns = {**COLUMNS, "at": {"role": "identifier", "type": kind}}
    session = sfumato.stream(policy(window | {"column": "at"}, columns=columns))
    absurd = [10**18, -(10**18), 10**12, -(10**11), *([float("nan"), float("inf"), -1e308] if kind == "decimal" else [2**63 - 1])]

    pushed = session.push([{**timed([1])[0], "at": at} for at in (1, *absurd)])

    # what is no number says no time
    assert {letter.code for letter in pushed.dead} <= {"time-outside", "value-type", "time-missing"}
    session.flush()
    assert (session.accounts.dead, session.accounts.records) == (len(absurd), len(absurd) + 1)


def test_rows_that_show_the_mean_of_a_group_are_aggregated() -> None:
    mask = {"microaggregate": {"k": 3}}
    columns = {"person": {"role": "identifier"}, "age": {"role": "other", "type": "integer", "mask": mask}}
    session = sfumato.stream({"subject": "person", "columns": columns, "window": {"count": 6}}, secret=bytes(32))

    session.push([{"person": f"p{number}", "age": 30 + number} for number in range(6)])

    assert (session.accounts.released, session.accounts.aggregated) == (0, 6)
