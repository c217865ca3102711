"""Views in a policy: what they take from it, and what is said against them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.errors import PolicyError
from sfumato.policy.load import load
from sfumato.policy.views import ResolvedViews, resolve_views

POLICY = """columns:
  age: {role: quasi_identifier}
  town: {role: quasi_identifier, weight: 2}
  illness: {role: sensitive}
promises: [{k_anonymity: {k: 3}}, {l_diversity: {column: illness, l: 2}}]
views:
"""

UNKNOWN = "there is no 'mondrain' among the algorithms of this version"


def views(text: str, tmp_path: Path, needs: tuple[str, ...] = ()) -> ResolvedViews:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY + text, encoding="utf-8")
    return resolve_views(load(path), needs)


def mistakes(text: str, tmp_path: Path, needs: tuple[str, ...] = ()) -> list[tuple[int | None, str, str, str]]:
    with pytest.raises(PolicyError) as raised:
        views(text, tmp_path, needs)
    return [(mistake.line, mistake.key, mistake.message, mistake.code) for mistake in raised.value.mistakes]


def test_a_view_has_what_it_says_and_the_rest_of_the_policy(tmp_path: Path) -> None:
    found = views(
        "  research: {columns: {town: {role: identifier}}, suppression_limit: 0.1}\n  ward: {promises: [{k_anonymity: {k: 2}}]}\n", tmp_path
    )

    research, ward = found.views["research"].policy, found.views["ward"].policy
    assert (research.columns["town"].role, ward.columns["town"].weight) == ("identifier", 2.0)
    assert ([promise.name for promise in research.promises], ward.promises[0].settings) == (["k_anonymity", "l_diversity"], {"k": 2})
    assert (research.suppression_limit, ward.suppression_limit) == (0.1, 0.0)


def test_a_view_that_is_derived_comes_after_the_one_it_is_derived_from(tmp_path: Path) -> None:
    found = views("  c: {derived_from: b}\n  b: {derived_from: a}\n  a: {}\n", tmp_path)

    assert list(found.views) == ["a", "b", "c"]
    assert found.derived_from == {"c": "b", "b": "a"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  a: {colums: {}}\n", (7, "views.a.colums", "unknown key", "policy-unknown-key")),
        ("  a:\n    promises: [{k_anonymity: {k: 0}}]\n", (8, "views.a.promises[0].k_anonymity.k", "must be at least 2", "policy-value")),
        ("  a: {}\nreaders: {nurse: [b]}\n", (8, "readers.nurse", "sees the view b, which is not in the policy", "policy-unknown-view")),
        ("  a: {columns: {agee: {role: other}}}\n", (7, "views.a.columns.agee", "is not among the columns of the policy", "policy-unknown-column")),
        ("  a: {derived_from: b}\n", (7, "views.a.derived_from", "is not a view of the policy", "policy-unknown-view")),
        ("  a: {derived_from: a}\n", (7, "views.a.derived_from", "goes round in a circle", "policy-derived-circle")),
        (
            "  a: {algorithm: {mondrian: {relaxed: true}}}\n  b: {derived_from: a}\n",
            (8, "views.b.derived_from", "makes unions of classes, and the view a deals out rows that are alike", "policy-relaxed"),
        ),
        (
            "  a: {}\n  b: {derived_from: a, algorithm: {mondrian: {relaxed: true}}}\n",
            (8, "views.b.derived_from", "makes unions of classes, and the view b deals out rows that are alike", "policy-relaxed"),
        ),
        ("  a: {}\nsink: all.csv\n", (8, "sink", "a policy with views has no sink of its own", "policy-views-sink")),
        ("  a: {sink: x.csv}\n  b: {sink: ./x.csv}\n", (8, "views.b.sink", "would write over what the view a writes", "policy-views-sink")),
        ("  a: {sink: x.csv}\n  b: {sink: x.csv.record.json.csv}\n", None),
        (
            "  a: {sink: {parquet: {path: one, partition_by: [illness]}}}\n  b: {sink: one/illness=a/two.csv}\n",
            (8, "views.b.sink", "would write over what the view a writes", "policy-views-sink"),
        ),
        (
            "  a: {algorithm: mondrain}\n",
            (7, "views.a.algorithm", "there is no 'mondrain' among the algorithms of this version", "component-unknown"),
        ),
        (
            "  a: {}\n  b: {columns: {illness: {role: identifier}}}\n",
            (5, "promises[1]", "in the view b: protects the column illness, whose role is identifier", "policy-role"),
        ),
    ],
)
def test_a_mistake_of_a_view_stands_where_it_was_written(text: str, expected: tuple[int, str, str, str] | None, tmp_path: Path) -> None:
    if expected is None:
        assert list(views(text, tmp_path).views) == ["a", "b"]
    else:
        assert mistakes(text, tmp_path) == [expected]


def test_readers_without_views_are_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY.replace("views:\n", "readers: {nurse: [ward]}\n"), encoding="utf-8")

    with pytest.raises(PolicyError) as raised:
        resolve_views(load(path))

    assert [mistake.message for mistake in raised.value.mistakes] == ["there are readers, but no views that they could see"]


def test_a_mistake_that_all_views_inherit_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY.replace("column: illness", "column: ilness") + "  a: {}\n  b: {}\n", encoding="utf-8")

    with pytest.raises(PolicyError) as raised:
        resolve_views(load(path))

    assert [str(mistake) for mistake in raised.value.mistakes] == [
        "line 5 promises[1]: speaks of the column ilness, which the policy does not name [policy-unknown-column]\n  try: illness"
    ]


def test_every_view_needs_a_sink_where_there_is_no_program_to_take_it(tmp_path: Path) -> None:
    found = mistakes("  a: {sink: a.csv}\n  b: {}\n", tmp_path, ("source", "sink"))

    assert found == [
        (1, "source", "the policy names no source", "policy-no-source"),
        (8, "views.b", "the view names no sink", "policy-no-sink"),
    ]
