"""From a policy to its components, and everything that can be said against it without looking at the data.

The files of its hierarchies are read: they are the policy's, not the data's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from sfumato.core.mistakes import key_text, mistakes_of
from sfumato.core.yaml_text import yaml_text
from sfumato.errors import Mistake, PolicyError, UsageError, suggestion
from sfumato.policy.ladders import read_ladders
from sfumato.policy.lines import Lines
from sfumato.policy.load import Loaded
from sfumato.policy.model import Column, Component, Policy
from sfumato.registry import find

if TYPE_CHECKING:
    from sfumato.core.hierarchy import Hierarchy
    from sfumato.core.interfaces import HierarchyBuilder, Mask, Promise, Search, Sink, Source


@dataclass(frozen=True, eq=False)
class Resolved:
    """A policy whose every name has been found and whose every setting has been checked.

    ``ladders`` are those hierarchies that were written down; the others can only be built from the data.
    """

    policy: Policy
    source: Source | None
    sink: Sink | None
    algorithm: Search
    promises: Sequence[Promise]
    hierarchies: Mapping[str, HierarchyBuilder]
    ladders: Mapping[str, Hierarchy]
    masks: Mapping[str, Mask]
    name: str
    lines: Lines

    def columns(self, *roles: str) -> list[str]:
        """Return the columns of some roles, in the policy's order."""
        return [name for name, column in self.policy.columns.items() if column.role in roles]


def resolve(loaded: Loaded) -> Resolved:
    """Find every component and check the policy as a whole; all mistakes are raised together."""
    finder = _Finder(loaded)
    policy = loaded.policy
    source = finder.optional("sources", policy.source, ("source",))
    sink = finder.optional("sinks", policy.sink, ("sink",))
    algorithm = finder.find("algorithms", policy.algorithm, ("algorithm",))
    promises = [finder.find("promises", item, ("promises", place)) for place, item in enumerate(policy.promises)]
    hierarchies, masks = {}, {}
    for name, column in policy.columns.items():
        hierarchies[name] = finder.optional("hierarchies", column.hierarchy, ("columns", name, "hierarchy"))
        masks[name] = finder.optional("masking", column.mask, ("columns", name, "mask"))
    for view_name, view in policy.views.items():
        finder.view(view_name, view)
    found = [promise for promise in promises if promise is not None]
    ladders, broken = read_ladders(loaded, hierarchies)
    finder.mistakes += broken
    _Checks(loaded, promises, masks, finder.mistakes).run()
    if finder.mistakes:
        raise PolicyError(finder.mistakes, name=loaded.name)
    return Resolved(
        policy=policy,
        source=source,
        sink=sink,
        algorithm=algorithm,
        promises=found,
        hierarchies={name: builder for name, builder in hierarchies.items() if builder is not None},
        ladders=ladders,
        masks={name: mask for name, mask in masks.items() if mask is not None},
        name=loaded.name,
        lines=loaded.lines,
    )


class _Finder:
    """Finds components and collects what is wrong with their names and settings."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self.mistakes: list[Mistake] = list(loaded.mistakes)

    def optional(self, kind: str, component: Component | None, path: tuple[str | int, ...]) -> Any:
        return None if component is None else self.find(kind, component, path)

    def find(self, kind: str, component: Component, path: tuple[str | int, ...]) -> Any:
        if component.instance is not None:
            return component.instance
        lines = self._loaded.lines
        try:
            found = find(kind, component.name)
        except UsageError as error:
            self.mistakes.append(Mistake(key_text(path), error.message, "component-unknown", error.hint, lines.at((*path, component.name))))
            return None
        # a short form (a bare name, a path) has no key of its own below the component's
        inner = (*path, component.name) if (*path, component.name) in lines.by_path else path
        try:
            return found.model_validate(component.settings, context={"folder": self._loaded.folder})
        except ValidationError as error:
            self.mistakes += mistakes_of(error, found, lines.at, inner)
            return None

    def view(self, name: str, view: Any) -> None:
        path: tuple[str | int, ...] = ("views", name)
        self.optional("sinks", view.sink, (*path, "sink"))
        self.optional("algorithms", view.algorithm, (*path, "algorithm"))
        for place, promise in enumerate(view.promises or []):
            self.find("promises", promise, (*path, "promises", place))
        for column_name, column in view.columns.items():
            self.optional("hierarchies", column.hierarchy, (*path, "columns", column_name, "hierarchy"))
            self.optional("masking", column.mask, (*path, "columns", column_name, "mask"))


class _Checks:
    """What must be true between the parts of a policy."""

    def __init__(self, loaded: Loaded, promises: Sequence[Promise | None], masks: Mapping[str, Mask | None], mistakes: list[Mistake]) -> None:
        self._policy = loaded.policy
        self._lines = loaded.lines
        self._promises = promises
        self._masks = masks
        self._mistakes = mistakes

    def run(self) -> None:
        self._columns()
        self._named_columns()
        self._roles()
        self._subject()
        self._not_built()

    def _say(self, path: tuple[str | int, ...], message: str, code: str, hint: str | None = None) -> None:
        self._mistakes.append(Mistake(key_text(path), message, code, hint, self._lines.at(path)))

    def _columns(self) -> None:
        if not self._policy.columns:
            self._say(("columns",), "names no column", "policy-no-columns", "name every column of the source and its role")
        for name, column in self._policy.columns.items():
            self._column(name, column)

    def _column(self, name: str, column: Column) -> None:
        place = ("columns", name)
        if column.role != "quasi_identifier":
            given = column.model_fields_set & {"weight", "level", "publish", "on_unknown"}
            for key in sorted(given):
                self._say(
                    (*place, key),
                    "says something only of a quasi_identifier",
                    "policy-role-key",
                    "leave it out, or change the role",
                )
            if column.missing and column.role != "sensitive":
                self._say((*place, "missing"), f"is of no use in a column of role {column.role}", "policy-role-key", "leave it out")
            if column.hierarchy is not None and column.role != "sensitive":
                self._say(
                    (*place, "hierarchy"),
                    f"is of no use in a column of role {column.role}",
                    "policy-role-key",
                    "leave it out, or change the role",
                )
        mask = self._masks.get(name)
        if column.mask is not None and mask is not None and column.role in ("quasi_identifier", "sensitive"):
            self._say(
                (*place, "mask"),
                f"masks of {column.role} columns are not built yet",
                "policy-not-built",
                "leave the mask out, or give the column another role",
            )
        if mask is not None:
            for other in mask.reads:
                if other not in self._policy.columns:
                    self._say(
                        (*place, "mask"),
                        f"reads the column {other}, which the policy does not name",
                        "policy-unknown-column",
                        suggestion(other, self._policy.columns),
                    )
        if column.publish == "bounds":
            for other in (f"{name}_from", f"{name}_to"):
                if other in self._policy.columns:
                    self._say((*place, "publish"), f"would publish a second column called {other}", "policy-bounds-clash", f"rename {other}")
        if column.level.maximum is not None and column.level.maximum < column.level.minimum:
            self._say((*place, "level"), "has a minimum above its maximum", "policy-level-range", "exchange them")

    def _need_ladders(self, place: int, promise: Promise | None) -> None:
        for name, scale in promise.scales.items() if promise is not None else ():
            column = self._policy.columns.get(name)
            if scale == "hierarchical" and column is not None and column.hierarchy is None:
                self._say(
                    ("promises", place),
                    f"measures distances by the hierarchy of the column {name}, which has none",
                    "policy-hierarchy-missing",
                    f"{name}: {{role: sensitive, hierarchy: {{taxonomy: {{path: ...}}}}}}",
                )

    def _named_columns(self) -> None:
        columns = self._policy.columns
        for place, promise in enumerate(self._promises):
            for name in promise.reads if promise is not None else ():
                path = ("promises", place)
                if name not in columns:
                    self._say(
                        path,
                        f"speaks of the column {name}, which the policy does not name",
                        "policy-unknown-column",
                        suggestion(name, columns),
                    )
                elif columns[name].role != "sensitive":
                    self._say(
                        path,
                        f"protects the column {name}, whose role is {columns[name].role}",
                        "policy-role",
                        _with_role(name, "sensitive"),
                    )
            self._need_ladders(place, promise)
        for view_name, view in self._policy.views.items():
            for name in view.columns:
                if name not in columns:
                    self._say(
                        ("views", view_name, "columns", name),
                        "is not among the columns of the policy",
                        "policy-unknown-column",
                        suggestion(name, columns),
                    )
            if view.derived_from is not None and view.derived_from not in self._policy.views:
                self._say(
                    ("views", view_name, "derived_from"),
                    "is not a view of the policy",
                    "policy-unknown-view",
                    suggestion(view.derived_from, self._policy.views),
                )
        for reader, seen in self._policy.readers.items():
            for view_name in seen:
                if view_name not in self._policy.views:
                    self._say(
                        ("readers", reader),
                        f"sees the view {view_name}, which is not in the policy",
                        "policy-unknown-view",
                        suggestion(view_name, self._policy.views),
                    )

    def _roles(self) -> None:
        roles = {column.role for column in self._policy.columns.values()}
        if roles == {"identifier"} and not any(mask is not None for mask in self._masks.values()):
            self._say(
                ("columns",), "every column is removed: nothing would be published", "policy-no-columns", "give a column another role, or a mask"
            )
        if "quasi_identifier" in roles and not self._policy.promises and not any(view.promises for view in self._policy.views.values()):
            self._say(
                ("promises",),
                "there are quasi-identifiers, but nothing is promised",
                "policy-no-promise",
                "promises: [{k_anonymity: {k: 5}}]",
            )
        if self._policy.promises and "quasi_identifier" not in roles and self._policy.columns:
            self._say(
                ("promises",),
                "something is promised, but there is no quasi_identifier",
                "policy-no-quasi-identifier",
                "give the columns by which people can be known that role",
            )
        if self._policy.order == "source" and self._policy.promises:
            self._say(
                ("order",),
                "source order would void every promise: row i of the release would be row i of the source",
                "policy-order",
                "leave it out",
            )

    def _subject(self) -> None:
        subject = self._policy.subject
        if subject is None:
            return
        column = self._policy.columns.get(subject)
        if column is None:
            self._say(
                ("subject",),
                f"the column {subject} is not among the columns",
                "policy-unknown-column",
                suggestion(subject, self._policy.columns),
            )
            return
        mask = self._masks.get(subject)
        if column.role != "identifier" or (mask is not None and mask.card.uniqueness != "lossy"):
            self._say(
                ("subject",),
                f"the column {subject} would be published and show which rows are one person's",
                "policy-subject-published",
                _with_role(subject, "identifier"),
            )

    def _not_built(self) -> None:
        for key, what in (("views", "views"), ("readers", "readers"), ("window", "windows of streams")):
            if getattr(self._policy, key):
                self._say((key,), f"{what} are not built yet", "policy-not-built", f"leave {key} out")
        if self._policy.order == "source" and not self._policy.promises:
            self._say(("order",), "releases in source order are not built yet", "policy-not-built", "leave it out")


def _with_role(name: str, role: str) -> str:
    return f"columns: {yaml_text({name: {'role': role}})}"
