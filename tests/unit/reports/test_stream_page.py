"""The page of a stream: along its own time where it has one, all numbers in it, and nothing that would have to be fetched."""

from __future__ import annotations

import re
from typing import Any

import pytest

from sfumato.reports.stream_page import charts_of, stream_page

BEGIN = 1_767_225_600.0  # 2026-01-01
HOUR = 3600.0


def points(number: int, time: bool = True, **further: Any) -> list[dict[str, Any]]:
    """Return what is measured as records come evenly, a thousand an hour."""
    found = []
    for place in range(1, number + 1):
        told = {"records": 1000 * place, "rows": 900 * place, "accounts.released": 900 * place, "accounts.suppressed": 100 * place}
        told |= {"by_level.0": 600 * place, "by_level.1": 300 * place, "z": 5 + place, "p_kanon": 0.5, "entropy_before": 8.0, "entropy_after": 6.0}
        told |= {"began": BEGIN, "time": BEGIN + HOUR * place} if time else {}
        found.append(told | {name: value(place) for name, value in further.items()})
    return found


def test_time_runs_along_all_charts_where_the_stream_has_one() -> None:
    charts = charts_of(points(48))
    assert {chart.along for chart in charts} == {"time of the stream, UTC"}
    assert charts[0].labels[BEGIN + 12 * HOUR] == "01 Jan 12:00"
    assert [chart.title.partition(":")[0] for chart in charts] == [
        "records in an hour, by what became of them",
        "z",
        "entropy of what people show, in bits, without made-up records",
        "p_kanon",
    ]


def test_made_up_rows_are_a_part_of_the_volume_and_told_beside_the_records() -> None:
    told = points(48)
    for point in told:
        point["rows"] += point["records"] // 4
    assert round(sum(charts_of(told)[0].series["made up"]) / 2) == 12_000
    assert "made up, beside them" in stream_page("shop", {"": told})
    assert "made up" not in stream_page("shop", {"": points(48)})


def test_records_run_along_where_no_column_says_a_time() -> None:
    charts = charts_of(points(20, time=False))
    assert {chart.along for chart in charts} == {"records that have come"}
    assert list(charts[1].labels.values())[:3] == ["0", "5,000", "10,000"]


@pytest.mark.parametrize("time", [True, False])
def test_the_same_time_stands_at_the_same_place_of_all_charts(time: bool) -> None:
    drawn = [re.findall(r'<text x="([\d.]+)" y="230" [^>]*>([^<]+)</text>', chart.svg()) for chart in charts_of(points(30, time)[9:])]
    assert len(drawn[0]) > 2
    assert all(each == drawn[0] for each in drawn)


@pytest.mark.parametrize("time", [True, False])
def test_bars_add_up_to_what_became_of_all_records(time: bool) -> None:
    volume = charts_of(points(30, time))[0]
    assert {name: round(sum(values) / 2) for name, values in volume.series.items()} == {
        "finest": 18_000,
        "1 level up": 9_000,
        "suppressed": 3_000,
    }


def test_what_came_before_the_first_look_is_spread_over_the_time_that_it_took() -> None:
    late = [point | {"began": BEGIN} for point in points(30)[9:]]
    bars = charts_of(late)[0].series["finest"]
    # an hour has 600, before the first look as after it
    assert set(map(round, bars)) == {600}


def test_delay_and_loss_are_those_between_two_points() -> None:
    charts = charts_of(points(4, **{"delay.mean": lambda place: (10.0, 20.0, 20.0, 40.0)[place - 1], "loss": lambda _: 0.25}))
    delay, loss = (next(chart for chart in charts if chart.title.startswith(name)) for name in ("delay", "loss"))
    assert list(delay.series["delay"]) == [10.0, 30.0, 20.0, 100.0]
    assert list(loss.series["loss"]) == pytest.approx([0.25] * 4)


def test_the_page_needs_nothing_from_elsewhere_and_is_read_in_the_dark() -> None:
    page = stream_page("a <stream>", {"one": points(5), "none": []})
    assert "a &lt;stream&gt;" in page
    assert page.count("<svg") == 4
    assert "Nothing has been committed yet." in page
    assert "prefers-color-scheme:dark" in page
    assert set(re.findall(r"https?://[^\"' ]*", page)) == {"http://www.w3.org/2000/svg"}
    assert "2026-01-01 05:00:00" in page


def test_one_point_is_a_table_and_no_chart() -> None:
    page = stream_page("t", {"": points(1)})
    assert "<svg" not in page
    assert "all numbers, 1 point<" in page


def test_names_of_series_stand_below_the_title() -> None:
    svg = charts_of(points(5))[0].svg()
    title = re.search(r'y="(\d+)" font-size="13"', svg)
    names = re.findall(r'<text x="(\d+)" y="34.5">', svg)
    assert title is not None
    assert int(title[1]) < 26
    assert [int(x) for x in names] == sorted({int(x) for x in names})


def test_a_line_of_delay_goes_on_between_releases_and_not_in_dots() -> None:
    rows, delays = (100, 100, 100, 200, 200, 300), (10.0, 10.0, 10.0, 20.0, 20.0, 20.0)
    charts = charts_of(points(6, rows=lambda place: rows[place - 1], **{"delay.mean": lambda place: delays[place - 1]}))
    delay = next(chart for chart in charts if chart.title.startswith("delay"))
    assert [at - BEGIN for at in delay.axis] == [HOUR, 4 * HOUR, 6 * HOUR]
    assert list(delay.series["delay"]) == [10.0, 30.0, 20.0]
    assert "<circle" not in delay.svg()
    assert delay.span == charts[0].span


def test_what_is_held_holds_until_the_next_point() -> None:
    held = next(chart for chart in charts_of(points(5, **{"accounts.held": lambda place: place % 2})) if chart.title == "records held")
    assert held.is_stepped


def test_where_it_is_not_told_how_many_are_silent_the_most_that_it_can_be_is_drawn() -> None:
    charts = charts_of(points(4, silent=lambda place: (20, None, 0, None)[place - 1]))
    silent = next(chart for chart in charts if chart.title.startswith("people of whom nothing"))
    assert list(silent.series["silent"]) == [20.0, 6.0, 0.0, 8.0]


def test_the_title_of_p_kanon_says_how_many_people() -> None:
    titles = [chart.title for chart in charts_of(points(4, k=lambda _: 3))]
    assert "p_kanon: people whose published attributes 3 share; a measure, no promise" in titles


def test_titles_are_no_wider_than_their_charts() -> None:
    means = {"delay.mean": float, "loss": lambda place: place / 8}
    every = points(4, k=lambda _: 1000, silent=lambda place: place, rows=lambda place: place, **means)
    charts = charts_of(every)
    assert {chart.title.split(":")[0] for chart in charts} >= {"p_kanon", "z", "delay", "loss"}
    assert max(len(chart.title) for chart in charts) <= 76  # of the font's bold letters


def test_bars_are_no_shorter_than_from_one_look_to_the_next() -> None:
    assert charts_of(points(3))[0].title == "records in an hour, by what became of them"


def test_shares_of_detail_add_up_to_all_records() -> None:
    shares = {"shares.0": lambda _: 0.6, "shares.1": lambda _: 0.25, "suppressed": lambda place: 100 * place, "late": lambda place: 50 * place}
    page = stream_page("a stream", {"": points(5, **shares)})
    told = [float(share) for share in re.findall(r">([\d.]+)%<", page)]
    assert told == [60.0, 25.0, 10.0, 5.0]
