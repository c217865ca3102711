"""``sfumato plan``: what a run would do, in words and with every setting."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sfumato.core.yaml_text import yaml_text
from sfumato.errors import UsageError

_LONGEST = 400
_STYLES = {
    None: "an interval where its values are numbers, a stretch of the calendar where they are dates, else a label",
    "interval": "an interval",
    "label": "a label",
    "set": "the set of values that it may be",
    "range": "a range of the database, or a network where its values are addresses",
}


def plan(policy: Path, sql: bool, anon_labels: bool, format: str) -> None:
    """Hold the policy against its source's columns and say what would happen."""
    if sql or anon_labels:
        _print(_labels(policy) if anon_labels else _statements(policy), format)
        return
    from sfumato.engine.plan_view import plan as make_plan
    from sfumato.policy.load import load
    from sfumato.policy.views import resolve_views

    loaded = load(policy)
    if loaded.policy.source is None:
        resolve_views(loaded, needs=("source",))
    made = make_plan(loaded)
    if format == "json":
        sys.stdout.write(json.dumps(made.as_mapping(), indent=1, ensure_ascii=False) + "\n")
        return
    lines: list[str] = []
    for name, each in (made.views or {"": made}).items():
        lines += [f"{made.heading(name)}:", ""] if name else []
        lines += [*each.numbered(), "", "With these settings:", *_lines(each.settings), ""]
    sys.stdout.write("\n".join([*lines, *made.together, "Nothing has been written.\n"]))


def _labels(policy: Path) -> list[str]:
    """Return the labels of the extension anon that would mask the table itself."""
    from sfumato.engine.anon_labels import anon_labels
    from sfumato.engine.plan import make_plans

    views = make_plans(policy).views
    if len(views) > 1:
        words = "labels of anon are for one audience, and the policy has several views"
        raise UsageError(words, code="plan-no-labels", hint="a policy for each of them, each with a masking policy of anon")
    return anon_labels(next(iter(views.values())))


def _statements(policy: Path) -> list[str]:
    """Return what a database would be asked to do."""
    from sfumato.engine.inside import not_inside, statements
    from sfumato.engine.live_view import live_view_statements
    from sfumato.engine.plan import make_plans

    plans = make_plans(policy)
    made = live_view_statements(plans)
    if made is not None:
        return made
    views = plans.views
    plan = next(iter(views.values()))
    reason = not_inside(plan, len(views))
    if reason is not None:
        hint = "sfumato plan without --sql says what is done instead"
        raise UsageError(f"the run is not done inside a database: {reason}", code="plan-not-inside", hint=hint)
    return statements(plan)


def _print(told: list[str], format: str) -> None:
    if format == "json":
        sys.stdout.write(json.dumps({"statements": told}, indent=1, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("".join(f"{statement}{'' if statement.startswith('--') else ';'}\n" for statement in told))


def _lines(settings: Mapping[str, Any]) -> Iterator[str]:
    yield f"source: {_short(settings['source'])}"
    for name, column in settings["columns"].items():
        yield f"{yaml_text(name)}, {column['role']}: {_fate(column)}"
        if told := list(_column(column)):
            yield f"  {'; '.join(told)}"
    for promise in settings["promises"]:
        yield f"promise: {_short(promise)}"
    for key in ("seed", "subject", "unnamed", "formats", "window", "stream", "algorithm", "suppression_limit", "accept", "sink"):
        if key in settings:
            yield f"{key}: {_short(settings[key])}"


def _fate(column: Mapping[str, Any]) -> str:
    if not column["published"]:
        return "removed"
    if "mask" in column:
        return f"masked with {_short(column['mask'])}"
    if column["role"] != "quasi_identifier":
        return "published as it is"
    if len(column["published"]) == 2:
        typed = " in its own type" if column["publish"] == "typed_bounds" else ""
        return f"published as bounds{typed}, in two columns: {' and '.join(column['published'])}"
    return f"published as {_STYLES[column['publish']]}"


def _column(column: Mapping[str, Any]) -> Iterator[str]:
    if "hierarchy" in column and (column["hierarchy"] or column["role"] == "quasi_identifier"):
        yield f"hierarchy {_short(column['hierarchy']) if column['hierarchy'] else 'made from its values'}"
    if "level" in column:
        yield f"level {_limits(**column['level'])}"
    for key in ("type", "missing", "on_unknown", "weight", "when", "otherwise", "on_null", "on_invalid", "accept"):
        if column.get(key):
            yield f"{key} {_short(column[key])}"


def _limits(minimum: int, maximum: int | None) -> str:
    most = "the root" if maximum is None else str(maximum)
    return f"from {minimum}{', the value itself,' if minimum == 0 else ''} to {most}"


def _short(value: Any) -> str:
    """Return a value as a policy writes it; a long one, such as a tree, only in its beginning."""
    text = yaml_text(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ... (whole with --format json)"
