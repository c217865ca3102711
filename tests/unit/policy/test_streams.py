"""What a policy of a stream may say, and every mistake of it with its line and key."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato
from sfumato.errors import PolicyError
from sfumato.policy.load import load
from sfumato.policy.views import resolve_views

GOOD = """
source: events.jsonl
subject: person
columns:
  person: {role: identifier}
  age: {role: quasi_identifier, type: integer}
  at: {role: identifier, type: timestamp}
  illness: {role: sensitive}
promises: [{k_anonymity: {k: 3}}]
sink: out.jsonl
"""
TIME = GOOD + "window: {time: 10m, column: at, lateness: 1m}\n"
Z = """
subject: person
columns:
  person: {role: identifier}
  item: {role: sensitive}
  at: {role: other, type: timestamp}
"""


def mistakes(tmp_path: Path, text: str) -> list[tuple[str, str, int | None]]:
    path = tmp_path / "policy.yaml"
    path.write_text(text.lstrip())
    try:
        resolve_views(load(path))
    except PolicyError as error:
        return [(mistake.key, mistake.code, mistake.line) for mistake in error.mistakes]
    return []


@pytest.mark.parametrize(
    "text",
    [
        TIME,
        GOOD + "window: {count: 100}\n",
        GOOD + "window: {session: 30m, column: at, starts: {column: illness, equals: flu}}\nstream: {batch: 10, on_late: next}\n",
        GOOD + "algorithm: {castle: {delta: 100}}\n",
        GOOD + "algorithm: datafly\nwindow: {count: 100, on_small: suppress, most: 500}\n",
        Z + "algorithm: {z_anonymity: {z: 5, time: at, path: item}}\n",
        GOOD.replace("sink: out.jsonl", "views: {all: {window: {count: 9}, sink: a.csv}, some: {algorithm: {castle: {}}, sink: b.csv}}"),
    ],
)
def test_a_policy_of_a_stream_is_read(tmp_path: Path, text: str) -> None:
    assert mistakes(tmp_path, text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GOOD + "window: {count: 10, time: 10m, column: at}\n", ("window", "policy-window", 10)),
        (GOOD + "window: {on_small: carry}\n", ("window", "policy-window", 10)),
        (GOOD + "window: {count: 10, lateness: 1m}\n", ("window.lateness", "policy-window", 10)),
        (GOOD + "window: {count: 10, most: 5}\n", ("window.most", "policy-window", 10)),
        (GOOD + "window: {time: 0s, column: at}\n", ("window.time", "policy-window", 10)),
        (GOOD + "window: {time: 10m}\n", ("window", "policy-window", 10)),
        (GOOD + "window: {time: 10m, column: when}\n", ("window.column", "policy-unknown-column", 10)),
        (GOOD + "window: {time: 10m, column: at, starts: {column: age, equals: 3}}\n", ("window.starts", "policy-window", 10)),
        (GOOD + "window: {session: 10m, column: at, starts: {column: login, equals: 3}}\n", ("window.starts", "policy-unknown-column", 10)),
        (TIME.replace("type: timestamp", "type: text"), ("window.column", "policy-window-time", 10)),
        (TIME.replace("subject: person\n", ""), ("subject", "policy-stream-subject", 1)),
        (GOOD + "stream: {}\n", ("window", "policy-window-missing", 1)),
        (TIME + "order: source\n", ("order", "policy-order", 11)),
        (TIME + "suppression_limit: 0.1\n", ("suppression_limit", "policy-stream", 11)),
        (TIME + "retention: {column: at, older_than: 90d}\n", ("retention", "policy-stream", 11)),
        (TIME.replace("type: integer}", "type: integer, level: {maximum: 2}}"), ("columns.age.level", "policy-stream", 5)),
        (TIME.replace("type: integer}", "type: integer, publish: range}"), ("columns.age.publish", "policy-stream", 5)),
        (TIME.replace("{role: sensitive}", "{role: sensitive, mask: uuid_mask, unique: true}"), ("columns.illness.unique", "policy-stream", 7)),
        (TIME + "algorithm: {castle: {}}\n", ("window", "policy-window", 10)),
        (GOOD.replace("type: integer}", "type: integer, publish: set}") + "algorithm: castle\n", ("columns.age.publish", "policy-stream", 5)),
        (GOOD + "algorithm: {castle: {delta: 1}}\n", ("algorithm", "policy-stream", 10)),
        (GOOD.replace("k_anonymity: {k: 3}", "l_diversity: {column: illness, l: 2}") + "algorithm: castle\n", ("promises", "policy-stream", 8)),
        (GOOD.replace("{role: sensitive}", "{role: sensitive, mask: swap}") + "stream: {}\n", ("columns.illness.mask", "policy-window-missing", 7)),
        (GOOD.replace("{role: sensitive}", "{role: sensitive, mask: shuffle}") + "algorithm: castle\n", ("columns.illness.mask", "policy-stream", 7)),
        (Z + "algorithm: {z_anonymity: {z: 5, time: at, path: itme}}\n", ("algorithm", "policy-unknown-column", 6)),
        (Z.replace("role: sensitive", "role: sensitive, mask: shuffle") + "algorithm: {z_anonymity: {z: 5, time: at, path: item}}\n",
         ("columns.item.mask", "policy-stream", 4)),
        (Z.replace("role: sensitive", "role: identifier") + "algorithm: {z_anonymity: {z: 5, time: at, path: item}}\n",
         ("columns.item.role", "policy-stream", 4)),
        (Z.replace("subject: person\n", "") + "algorithm: {z_anonymity: {z: 5, time: at, path: item}}\n", ("subject", "policy-stream-subject", 1)),
        (Z + "algorithm: {z_anonymity: {z: 5, time: at, path: item}}\npromises: [{k_anonymity: {k: 3}}]\n", ("promises", "policy-stream", 7)),
        (Z.replace("timestamp", "ip") + "algorithm: {z_anonymity: {z: 5, time: at, path: item}}\n", ("algorithm", "policy-window-time", 6)),
        (GOOD.replace("sink: out.jsonl", "views: {a: {sink: a.csv}, b: {derived_from: a, sink: b.csv}}\nwindow: {count: 9}"),
         ("views.b.derived_from", "policy-stream", 9)),
        (GOOD.replace("sink: out.jsonl", "views: {a: {sink: a.csv}, b: {sink: b.csv}}\nreaders: {ada: [a, b]}\nwindow: {count: 9}"),
         ("readers.ada", "policy-stream", 10)),
    ],
)  # fmt: skip
def test_every_mistake_is_told_with_its_line(tmp_path: Path, text: str, expected: tuple[str, str, int | None]) -> None:
    assert expected in mistakes(tmp_path, text)


def test_a_policy_of_a_stream_is_not_run_as_one_of_a_table(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(TIME.lstrip())

    with pytest.raises(PolicyError) as caught:
        sfumato.run(tmp_path / "policy.yaml")

    assert str(caught.value) == (
        "policy.yaml:10 window: the policy is for a stream [policy-of-stream]\n"
        "  try: sfumato stream run, or sfumato.stream(policy) in Python; without window and stream it is a policy for tables"
    )


def test_a_plan_of_a_stream_says_when_what_leaves(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(TIME.lstrip())

    plan = sfumato.plan(tmp_path / "policy.yaml")

    assert "Gather records in windows: 10m of at each; a record may come 1m late, and one that comes later is left out." in plan.steps
    assert plan.settings["window"]["most"] == 100_000


MANY = "where the first ones were so many that they are grouped"


@pytest.mark.parametrize(
    ("algorithm", "further", "told"),
    [
        (
            "mondrian",
            {},
            "a category that comes later joins it, or is published as everything where the first ones were so many that they are grouped",
        ),
        (
            "castle",
            {},
            "a category that comes later joins it, or is left out with its record where the first ones were so many that they are grouped",
        ),
        ("mondrian", {"on_unknown": "suppress"}, "a row with a value outside it is left out"),
        ("mondrian", {"type": "integer"}, "a value outside it is a dead letter"),
    ],
)
def test_a_plan_of_a_stream_says_what_becomes_of_categories_that_come_later(algorithm: str, further: dict[str, str], told: str) -> None:
    columns = {"person": {"role": "identifier"}, "town": {"role": "quasi_identifier", **further}}
    search = {"algorithm": {"castle": {"delta": 50}}} if algorithm == "castle" else {"window": {"count": 10}}
    plan = sfumato.plan({"subject": "person", "columns": columns, "promises": [{"k_anonymity": {"k": 2}}], **search})

    assert [step.partition("; ")[2] for step in plan.steps if step.startswith("Generalise")] == [f"{told}."]


def test_a_quasi_identifier_beside_a_search_over_events_gets_one_hint(tmp_path: Path) -> None:
    text = Z.replace("role: sensitive", "role: quasi_identifier") + "algorithm: {z_anonymity: {z: 5, time: at, path: item}}\n"
    (tmp_path / "policy.yaml").write_text(text)

    with pytest.raises(PolicyError) as caught:
        resolve_views(load(tmp_path / "policy.yaml"))

    assert [(mistake.key, mistake.hint) for mistake in caught.value.mistakes] == [("columns.item.role", "role: sensitive, without a mask")]


NOISY = """
subject: person
columns:
  person: PERSON
  item: {role: sensitive}
  at: {role: other, type: timestamp}
  town: TOWN
algorithm: {z_anonymity: {z: 5, time: at, path: item, noise: NOISE}}
"""


@pytest.mark.parametrize(
    ("person", "town", "noise", "expected"),
    [
        ("{role: other}", "{role: other}", "{diffmax: 2}", [("columns.town.role", "policy-stream-noise", 6)]),
        ("{role: other}", "{role: other}", "{diffmax: 2, copied: [town]}", []),
        (
            "{role: other}",
            "{role: other, mask: {regex_replace: {pattern: x, replacement: y}}}",
            "{diffmax: 2}",
            [("columns.town.mask", "policy-stream-noise", 6)],
        ),
        ("{role: other}", "{role: identifier}", "{diffmax: 2}", []),
        ("{role: other}", "{role: other, mask: {drop: {}}}", "{diffmax: 2}", []),
        ("{role: identifier}", "{role: identifier}", "{diffmax: 2, copied: [twon]}", [("algorithm", "policy-unknown-column", 7)]),
        ("{role: other, mask: {random_uuid: {}}}", "{role: identifier}", "{diffmax: 2}", [("columns.person.mask", "policy-stream-noise", 3)]),
        ("{role: other, mask: {constant: {value: x}}}", "{role: identifier}", "{diffmax: 2}", []),
    ],
)
def test_columns_by_which_made_up_records_could_be_told_are_refused(
    tmp_path: Path, person: str, town: str, noise: str, expected: list[tuple[str, str, int]]
) -> None:
    text = NOISY.replace("PERSON", person).replace("TOWN", town).replace("NOISE", noise)
    assert mistakes(tmp_path, text) == expected
    # nothing is made up here, and all of it may be published
    assert mistakes(tmp_path, text.replace(f", noise: {noise}", "")) == []


MEANS = "algorithm: {microaggregation: {publish: mean}}\n"


@pytest.mark.parametrize("style", ["bounds", "typed_bounds"])
@pytest.mark.parametrize(
    ("text", "key"),
    [
        (GOOD + MEANS + "window: {count: 100}\n", "columns.age.publish"),
        (GOOD.replace("sink: out.jsonl", "window: {count: 9}\nviews: {all: {sink: a.csv, " + MEANS.strip() + "}}"), "columns.age.publish"),
    ],
)
def test_a_mean_is_not_published_as_bounds(tmp_path: Path, style: str, text: str, key: str) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(text.replace("type: integer", f"type: integer, publish: {style}"))
    with pytest.raises(PolicyError) as refused:
        resolve_views(load(path))
    (mistake,) = refused.value.mistakes
    assert (mistake.key, mistake.code) == (key, "policy-stream")
    assert mistake.message == "bounds are two numbers, and microaggregation publishes the mean, which is one"
    assert mistake.hint == "publish: interval, or algorithm: {microaggregation: {publish: box}}"


def test_a_view_that_publishes_bounds_of_means_is_refused_where_it_says_so(tmp_path: Path) -> None:
    columns = "views: {all: {sink: a.csv, columns: {age: {role: quasi_identifier, type: integer, publish: bounds}}}}"
    text = GOOD.replace("sink: out.jsonl", MEANS + "window: {count: 9}\n" + columns)
    assert [code for _, code, _ in mistakes(tmp_path, text)] == ["policy-stream"]


@pytest.mark.parametrize("text", [MEANS.replace("mean", "box"), MEANS.replace("{publish: mean}", "{}")])
def test_a_box_is_published_as_bounds(tmp_path: Path, text: str) -> None:
    assert mistakes(tmp_path, GOOD.replace("type: integer", "type: integer, publish: bounds") + text + "window: {count: 100}\n") == []


def test_columns_above_their_lowest_level_have_bounds_beside_means(tmp_path: Path) -> None:
    column = "type: integer, publish: bounds, hierarchy: {interval: {width: 10}}, level: {minimum: 1}"
    assert mistakes(tmp_path, GOOD.replace("type: integer", column) + MEANS + "window: {count: 100}\n") == []
