"""From a policy to its components, and everything that can be said against it without looking at the data.

The files of its hierarchies and masks are read: they are the policy's, not the data's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from sfumato.core.keys import Keys
from sfumato.core.makers import refuse_misshapen
from sfumato.core.masked_column import MaskedColumn
from sfumato.core.mistakes import key_text, mistakes_of
from sfumato.core.whose import Subject
from sfumato.errors import Mistake, PolicyError, UnreachableError, UsageError
from sfumato.policy.checks import Checks
from sfumato.policy.identity import identity_of
from sfumato.policy.ladders import read_ladders
from sfumato.policy.lines import Lines
from sfumato.policy.load import Loaded
from sfumato.policy.model import Column, Component, Policy
from sfumato.policy.own_files import own_files
from sfumato.policy.seed import seed_mistakes
from sfumato.policy.slips import meant_by
from sfumato.policy.stream_checks import is_stream
from sfumato.registry import find

if TYPE_CHECKING:
    from sfumato.core.hierarchy import Hierarchy
    from sfumato.core.interfaces import HierarchyBuilder, Promise, Search, Sink, Source


Part = Literal["view", "table"]


@dataclass(frozen=True, eq=False)
class Resolved:
    """A policy whose every name has been found and whose every setting has been checked.

    ``ladders`` are those hierarchies that were written down; the others can only be built from the data. ``own`` are the keys that a view or a
    table itself says, ``part`` which of both it is, if any, ``accepts`` what a table says to be known of it.
    """

    policy: Policy
    source: Source | None
    sink: Sink | None
    algorithm: Search
    promises: Sequence[Promise]
    hierarchies: Mapping[str, HierarchyBuilder]
    ladders: Mapping[str, Hierarchy]
    masks: Mapping[str, MaskedColumn]
    name: str
    lines: Lines
    folder: Path | None = None
    identity: str = ""
    own: Sequence[str] = ()
    part: Part = "view"
    accepts: Sequence[str] = ()

    def keys(self, names: Iterable[str]) -> Keys:
        """Return some of the keys that the policy names, each read from where it says."""
        return Keys({name: self.policy.keys[name].read(name, self.folder) for name in names})

    @property
    def subject(self) -> Subject | None:
        """The column that says whose rows are."""
        name = self.policy.subject
        return None if name is None else Subject(name, self.policy.columns[name].type)

    def columns(self, *roles: str) -> list[str]:
        """Return the columns of some roles, in the policy's order."""
        return [name for name, column in self.policy.columns.items() if column.role in roles]


def resolve(loaded: Loaded, needs: Sequence[str] = ()) -> Resolved:
    """Find every component and check the policy as a whole; all mistakes are raised together.

    ``needs`` names what must be given, source or sink, where nothing else can take its place.
    """
    finder = _Finder(loaded)
    policy = loaded.policy
    source, algorithm, promises, hierarchies, masks = finder.parts()
    sink = finder.optional("sinks", policy.sink, ("sink",))
    ladders, broken = read_ladders(loaded, hierarchies)
    finder.mistakes += broken
    finder.mistakes += own_files(loaded, source, sink, hierarchies, masks)
    finder.mistakes += seed_mistakes(source, masks, is_stream(policy), loaded.lines, policy.seed is not None)
    Checks(loaded, promises, masks, finder.mistakes, algorithm).run(needs)
    if finder.mistakes:
        raise PolicyError(finder.mistakes, name=loaded.name)
    return Resolved(
        policy=policy,
        source=source,
        sink=sink,
        algorithm=algorithm,
        promises=[promise for promise in promises.values() if promise is not None],
        hierarchies={name: builder for name, builder in hierarchies.items() if builder is not None},
        ladders=ladders,
        masks={name: mask for name, mask in masks.items() if mask is not None},
        name=loaded.name,
        lines=loaded.lines,
        folder=loaded.folder,
        identity=identity_of(policy, loaded.path),
    )


def mistakes_in_parts(loaded: Loaded) -> list[Mistake]:
    """Return what is wrong with each component by itself, whether or not anything uses it."""
    finder = _Finder(replace(loaded, mistakes=()))
    finder.parts()
    return finder.mistakes


class _Finder:
    """Finds components and collects what is wrong with their names and settings."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self.mistakes: list[Mistake] = list(loaded.mistakes)

    def parts(self) -> tuple[Any, Any, dict[int, Any], dict[str, Any], dict[str, Any]]:
        """Return the source, the search, the promises by their places, and hierarchies and masks by their columns."""
        policy, unknown = self._loaded.policy, self._loaded.unknown
        source = self.optional("sources", policy.source, ("source",))
        algorithm = self.find("algorithms", policy.algorithm, ("algorithm",))
        # places are those of the file: entries that could not be read are left out
        places = (place for place in count() if ("promises", place) not in unknown)
        promises = {place: self.find("promises", item, ("promises", place)) for item, place in zip(policy.promises, places, strict=False)}
        hierarchies, masks = {}, {}
        for name, column in policy.columns.items():
            hierarchies[name] = self.optional("hierarchies", column.hierarchy, ("columns", name, "hierarchy"))
            masks[name] = self.mask(name, column)
        return source, algorithm, promises, hierarchies, masks

    def mask(self, name: str, column: Column) -> MaskedColumn | None:
        """Return the masks of a column as one; None where there are none, or one of them could not be found."""
        if column.mask is None:
            return None
        steps = self._steps(column.mask, ("columns", name, "mask"))
        otherwise = self._steps(column.otherwise or [], ("columns", name, "otherwise"))
        if None in steps or None in otherwise:
            return None
        return MaskedColumn(name, steps, column.when, otherwise, column.on_null, column.on_invalid)

    def _steps(self, components: Sequence[Component], path: tuple[str | int, ...]) -> list[Any]:
        # one operation alone stands below the key itself, several in a list
        listed = len(components) > 1 or (*path, 0) in self._loaded.lines.by_path
        return [self.find("masking", component, (*path, place) if listed else path) for place, component in enumerate(components)]

    def optional(self, kind: str, component: Component | None, path: tuple[str | int, ...]) -> Any:
        return None if component is None else self.find(kind, component, path)

    def find(self, kind: str, component: Component, path: tuple[str | int, ...]) -> Any:
        lines = self._loaded.lines
        if component.instance is not None:
            return self._checked_again(component.instance, path) if kind == "promises" else component.instance
        try:
            found = find(kind, component.name)
        except UsageError as error:
            self.mistakes.append(Mistake(key_text(path), error.message, "component-unknown", error.hint, lines.at((*path, component.name))))
            return None
        except UnreachableError as error:
            # the policy is not wrong: what it names is there, and does not work
            place = f"{self._loaded.name}:{lines.at((*path, component.name)) or ''} {key_text(path)}"
            raise UnreachableError(f"{place}: {error.message}", code=error.code, hint=error.hint) from None
        # a short form (a bare name, a path) has no key of its own below the component's
        inner = (*path, component.name) if (*path, component.name) in lines.by_path else path
        try:
            made = found.model_validate(component.settings, context={"folder": self._loaded.folder})
            if kind == "masking":
                refuse_misshapen(made, str(path[1]))
            return made
        except ValidationError as error:
            self.mistakes += mistakes_of(error, found, lines.at, inner, meant_by(component, inner))
            return None

    def _checked_again(self, promise: Any, path: tuple[str | int, ...]) -> Any:
        """Return a promise that was built in Python; there are ways to build one past its own checks."""
        try:
            # as plain Python values: a wrong one has no business in a warning
            return type(promise).model_validate({name: getattr(promise, name) for name in type(promise).model_fields})
        except ValidationError as error:
            self.mistakes += mistakes_of(error, type(promise), self._loaded.lines.at, path)
            return None
