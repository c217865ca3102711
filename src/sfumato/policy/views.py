"""Views: one policy for several audiences, each a policy of its own once what it leaves open is taken from the whole one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from sfumato.core.mistakes import Place, key_text
from sfumato.core.relaxed_search import deals_out
from sfumato.errors import Mistake, PolicyError, suggestion
from sfumato.policy.lines import Lines
from sfumato.policy.load import Loaded
from sfumato.policy.model import Policy, View
from sfumato.policy.own_files import written
from sfumato.policy.resolve import Resolved, mistakes_in_parts, resolve
from sfumato.policy.stream_checks import as_stream, between_views, is_stream, needs_no_window
from sfumato.policy.tables import has_tables, resolve_tables
from sfumato.policy.told_ways import ReadView, told_in_several_ways

_REPLACED = ("promises", "algorithm", "suppression_limit", "window")


@dataclass(frozen=True, eq=False)
class ResolvedViews:
    """The views of a policy, those that others are derived from before them; a policy without views is one without a name.

    Where ``are_tables`` these are the tables of a policy, each with a source and a sink of its own.
    ``known`` are the columns that the whole policy or any view calls quasi-identifiers, ``identifying`` those and the
    identifiers of the whole policy.
    """

    views: Mapping[str, Resolved]
    derived_from: Mapping[str, str]
    readers: Mapping[str, Sequence[str]]
    known: frozenset[str] = frozenset()
    identifying: frozenset[str] = frozenset()
    are_tables: bool = False


def resolve_views(loaded: Loaded, needs: Sequence[str] = ()) -> ResolvedViews:
    """Find every component of every view and check them; all mistakes are raised together."""
    policy = loaded.policy
    if has_tables(loaded):
        return ResolvedViews(resolve_tables(loaded, needs), {}, {}, are_tables=True)
    if not policy.views and not policy.readers:
        return ResolvedViews({"": resolve(loaded, needs)}, {}, {})
    mistakes = [*loaded.mistakes, *_between_views(loaded, needs), *mistakes_in_parts(loaded)]
    views, found = {}, {}
    for name in policy.views:
        try:
            views[name] = replace(resolve(of_view(loaded, name), [key for key in needs if key != "sink"]), own=_own(policy.views[name]))
        except PolicyError as error:
            found[name] = error.mistakes
    mistakes += _told_once(policy, found)
    if is_stream(policy):
        mistakes += between_views(policy, loaded.lines)
    mistakes += _same_sinks(loaded, views)
    mistakes += _overlapping(loaded, views)
    mistakes += _told_in_several_ways(policy, views)
    if mistakes:
        raise PolicyError(list(dict.fromkeys(mistakes)), name=loaded.name)
    derived = {name: view.derived_from for name, view in policy.views.items() if view.derived_from is not None}
    columns = [policy.columns, *(view.columns for view in policy.views.values())]
    roles = [(name, column.role) for each in columns for name, column in each.items()]
    known = frozenset(name for name, role in roles if role == "quasi_identifier")
    # a view may remove a column for other reasons: it is the whole policy that says what identifies people
    identifying = known | {name for name, column in policy.columns.items() if column.role == "identifier"}
    return ResolvedViews({name: views[name] for name in _parents_first(policy.views)}, derived, policy.readers, known, identifying)


def of_view(loaded: Loaded, name: str) -> Loaded:
    """Return the policy that one view is. Its keys stand where the view or, if it does not say them, the whole policy has them."""
    view = loaded.policy.views[name]
    own = {key: value for key in _REPLACED if (value := getattr(view, key)) is not None}
    # columns that the policy does not name are a mistake of their own
    columns = loaded.policy.columns | {column: entry for column, entry in view.columns.items() if column in loaded.policy.columns}
    if is_stream(loaded.policy):
        own |= {"stream": as_stream(loaded.policy).stream} | _without_window(view)
    policy = loaded.policy.model_copy(update={"columns": columns, "sink": view.sink, "views": {}, "readers": {}} | own)
    lines = {place: line for path, line in loaded.lines.by_path.items() if (place := _in_view(path, name, view)) is not None}
    unknown = frozenset(place for path in loaded.unknown if (place := _in_view(path, name, view)) is not None)
    return replace(loaded, policy=policy, lines=Lines(lines), mistakes=(), unknown=unknown)


def _without_window(view: View) -> dict[str, None]:
    """Return that a view whose own search works without windows has none where the other views do."""
    unneeded = view.window is None and view.algorithm is not None and needs_no_window(view.algorithm)
    return {"window": None} if unneeded else {}


def _in_view(path: Place, name: str, view: View) -> Place | None:
    """Return where a key of the file stands in the policy of a view; None where it has no part in it."""
    if path[:2] == ("views", name) and path[2:]:
        return path[2:]
    if path[:1] in (("views",), ("readers",), ("sink",)) or _replaces(view, path):
        return None
    return path


def _replaces(view: View, path: Place) -> bool:
    if path[:1] == ("columns",):
        return len(path) > 1 and path[1] in view.columns
    return any(path[:1] == (key,) and getattr(view, key) is not None for key in _REPLACED)


def _own(view: View) -> tuple[str, ...]:
    """Return the keys that a view says itself."""
    columns = (key_text(("columns", column)) for column in view.columns)
    return (*columns, "sink", *(key for key in _REPLACED if getattr(view, key) is not None))


def _told_once(policy: Policy, found: Mapping[str, Sequence[Mistake]]) -> Iterator[Mistake]:
    """Yield the mistakes of views: of a key that the view has not, where all views have the mistake, that of the whole policy."""
    for name, mistakes in found.items():
        view = policy.views[name]
        own = _own(view)
        for mistake in mistakes:
            if any(mistake.key == key or mistake.key.startswith((f"{key}.", f"{key}[")) for key in own):
                yield replace(mistake, key=f"{key_text(('views', name))}.{mistake.key}")
            elif len(found) == len(policy.views) and all(mistake in others for others in found.values()):
                yield mistake
            else:
                yield replace(mistake, message=f"in the view {name}: {mistake.message}")


def _between_views(loaded: Loaded, needs: Sequence[str]) -> Iterator[Mistake]:
    """Yield what is wrong between views, readers and the whole policy."""
    policy, lines = loaded.policy, loaded.lines

    def mistake(path: Place, message: str, code: str, hint: str) -> Mistake:
        return Mistake(key_text(path), message, code, hint, lines.at(path))

    if policy.readers and not policy.views and not any(path[:1] == ("views",) for path in loaded.unknown):
        yield mistake(("readers",), "there are readers, but no views that they could see", "policy-unknown-view", "views: {research: {sink: ...}}")
    if policy.views and policy.sink is not None:
        yield mistake(("sink",), "a policy with views has no sink of its own", "policy-views-sink", "write it into the view that it belongs to")
    for name, view in policy.views.items():
        place: Place = ("views", name)
        if "sink" in needs and view.sink is None and (*place, "sink") not in loaded.unknown:
            yield mistake(place, "the view names no sink", "policy-no-sink", f"sink: {name or 'release'}.csv")
        for column in view.columns:
            if column not in policy.columns and ("columns",) not in loaded.unknown:
                hint = suggestion(column, policy.columns)
                yield mistake((*place, "columns", column), "is not among the columns of the policy", "policy-unknown-column", hint)
        if not name:
            yield mistake(place, "a view needs a name", "policy-value", "views: {research: {sink: ...}}")
        if view.derived_from is not None and view.derived_from not in policy.views:
            others = [other for other in policy.views if other != name]
            yield mistake((*place, "derived_from"), "is not a view of the policy", "policy-unknown-view", suggestion(view.derived_from, others))
        elif view.derived_from is not None and name in _ancestors(policy.views, name):
            yield mistake((*place, "derived_from"), "goes round in a circle", "policy-derived-circle", "derive from a view that is derived from none")
    for reader, seen in policy.readers.items():
        for name in seen:
            if name not in policy.views and policy.views:
                message = f"sees the view {name}, which is not in the policy"
                yield mistake(("readers", reader), message, "policy-unknown-view", suggestion(name, policy.views))


def _same_sinks(loaded: Loaded, views: Mapping[str, Resolved]) -> Iterator[Mistake]:
    """Yield the mistake of two views that would write the same file."""
    taken: dict[str, str] = {}
    for name, view in views.items():
        files = {os.path.realpath(path) for path in written(view.sink)} if view.sink is not None else set()
        other = next((view for mine in files for theirs, view in taken.items() if _overlap(mine, theirs)), None)
        if other is not None:
            place: Place = ("views", name, "sink")
            message = f"would write over what the view {other} writes"
            yield Mistake(key_text(place), message, "policy-views-sink", "name another file", loaded.lines.at(place))
        taken |= dict.fromkeys(files, name)


def _overlapping(loaded: Loaded, views: Mapping[str, Resolved]) -> Iterator[Mistake]:
    """Yield the mistake of a view whose classes are to be unions of others, where either view deals out rows that are alike."""
    for name, view in loaded.policy.views.items():
        pair = [each for each in (name, view.derived_from) if each is not None and each in views]
        relaxed = [each for each in pair if deals_out(views[each].algorithm)]
        if view.derived_from is not None and relaxed:
            place: Place = ("views", name, "derived_from")
            message = f"makes unions of classes, and the view {relaxed[0]} deals out rows that are alike"
            yield Mistake(key_text(place), message, "policy-relaxed", f"leave relaxed out in views.{relaxed[0]}", loaded.lines.at(place))


def _told_in_several_ways(policy: Policy, views: Mapping[str, Resolved]) -> Iterator[Mistake]:
    """Yield what readers of several views are told of one column in ways that cannot be held against each other."""
    read = {name: ReadView(view.policy, view.masks, view.lines) for name, view in views.items()}
    for seen in policy.readers.values():
        for name, mistake in told_in_several_ways(read, [view for view in seen if view in read]):
            place = f"{key_text(('views', name))}."
            own = replace(mistake, key=place + mistake.key, hint=str(mistake.hint).replace(" in columns.", f" in {place}columns."))
            yield own if _has_own(policy.views[name], mistake) else mistake


def _has_own(view: View, mistake: Mistake) -> bool:
    return any(mistake.key.startswith(f"{key}.") for key in _own(view))


def _overlap(one: str, other: str) -> bool:
    """Return whether two places are the same, or one lies within the other."""
    return PurePath(one).is_relative_to(other) or PurePath(other).is_relative_to(one)


def _ancestors(views: Mapping[str, View], name: str) -> list[str]:
    """Return the views that a view is derived from, the nearest first; where they go round in a circle, each once."""
    found: list[str] = []
    step = views[name].derived_from
    while step is not None and step in views and step not in found:
        found.append(step)
        step = views[step].derived_from
    return found


def _parents_first(views: Mapping[str, View]) -> list[str]:
    return sorted(views, key=lambda name: len(_ancestors(views, name)))
