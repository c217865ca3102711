"""The plan of one view of a stream: a policy held against the columns that come, and what is needed of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa

from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import MaskPlan
from sfumato.core.mask import WIDE, MaskContext
from sfumato.core.masked_column import MaskedColumn
from sfumato.core.nested_types import nested_type
from sfumato.core.policy_files import lines_of
from sfumato.core.publication import Publication
from sfumato.core.stream_search import Way, way_of
from sfumato.engine.columns import compare_columns, remove_unnamed
from sfumato.engine.documents import refuse_documents
from sfumato.engine.plan import AnyPolicy, Plan, named_view, refuse_misfits
from sfumato.engine.stream.listed_people import listed_people
from sfumato.engine.translated import missing_as_read, translated
from sfumato.errors import DataError, Mistake, PolicyError
from sfumato.policy.load import Loaded, load
from sfumato.policy.resolve import Resolved
from sfumato.policy.stream_checks import as_stream
from sfumato.policy.views import resolve_views
from sfumato.policy.windows import StreamSettings, Unit, Window
from sfumato.registry import find


@dataclass(frozen=True, eq=False)
class StreamPlan:
    """The plan of one view, whose columns are those of the stream, and what a session asks of it again and again."""

    plan: Plan
    loose: bool = False

    @property
    def resolved(self) -> Resolved:
        """The policy of the view."""
        return self.plan.resolved

    @property
    def settings(self) -> StreamSettings:
        """How the stream is taken."""
        return self.resolved.policy.stream or StreamSettings()

    @cached_property
    def way(self) -> Way | Literal["rows"]:
        """How records go: in windows, from cluster to cluster, event by event, or each by itself."""
        return way_of_view(self.resolved)

    @property
    def window(self) -> Window | None:
        """The window, where records wait for one."""
        return self.resolved.policy.window if self.way == "windows" else None

    @property
    def released(self) -> list[str]:
        """The columns of the release as they are written, with those that say when windows began and ended."""
        publish = self.window.publish if self.window is not None else None
        return [*self.plan.released, *(name for name in ((publish.start, publish.end) if publish is not None else ()) if name is not None)]

    @property
    def subject(self) -> str | None:
        """The column that says whose a record is."""
        return self.resolved.policy.subject

    @cached_property
    def event_columns(self) -> Sequence[str]:
        """The columns that a search over events decides of."""
        return tuple(self.resolved.algorithm.attribute_columns) if self.way == "events" else ()  # type: ignore[attr-defined]

    @cached_property
    def masks(self) -> dict[str, MaskedColumn]:
        """The masks by column; quasi-identifiers among them."""
        return {name: self.resolved.masks[name] for name in self.plan.masked}

    @cached_property
    def narrow(self) -> list[str]:
        """The masked columns whose masks look at one row at a time."""
        return [name for name, mask in self.masks.items() if mask.card.scope not in WIDE]

    @cached_property
    def wide(self) -> list[str]:
        """The masked columns whose masks look at all rows of a window."""
        return [name for name, mask in self.masks.items() if mask.card.scope in WIDE]

    @cached_property
    def needed(self) -> list[str]:
        """The columns of the stream of which a session needs anything."""
        plan, window = self.plan, self.window
        read = [*plan.published, *plan.quasi_identifiers, *plan.watched, *self.event_columns]
        read += [name for mask in self.masks.values() for name in (mask.column, *mask.reads)]
        read += [self.subject] if self.subject is not None else []
        if window is not None:
            read += [window.column] if window.column is not None else []
            read += window.starts.reads if window.starts is not None else ()
        else:
            read += [self._event_time] if self._event_time is not None else []
        read += [name for name in (self.opted_out,) if name is not None]
        wanted = set(read)
        return [name for name in plan.schema.names if name in wanted]

    @property
    def time_column(self) -> str | None:
        """The column that says when a record was; None where nobody asks."""
        return self.window.column if self.window is not None else self._event_time

    @property
    def time_unit(self) -> Unit:
        """What a number in that column counts."""
        unit: Unit = self.window.unit if self.window is not None else getattr(self.resolved.algorithm, "unit", "s")
        return unit

    @property
    def _event_time(self) -> str | None:
        return getattr(self.resolved.algorithm, "time", None) if self.way == "events" else None

    @property
    def opted_out(self) -> str | None:
        """The column that says in whose name nothing may be made up."""
        return getattr(self._noise, "opted_out", None)

    @cached_property
    def opted_out_people(self) -> pa.Array | None:
        """The people whom the policy lists as such, in the type of their column."""
        path = getattr(self._noise, "opted_out_file", None)
        if path is None:
            return None

        def broken(place: str, what: str, hint: str) -> DataError:
            return DataError(f"list of people who opted out {path}{place} {what}", code="file-encoding", hint=hint)

        subject = self.subject
        if subject is None:
            raise AssertionError("nobody is made up where nobody is counted")
        return listed_people(lines_of(path, broken), self.plan.schema.field(subject).type, self.resolved.policy.columns[subject].type)

    @property
    def _noise(self) -> Any:
        return getattr(self.resolved.algorithm, "noise", None) if self.way == "events" else None

    def context(self, column: str, ladder: Hierarchy | None = None) -> MaskContext:
        """Return what the mask of a column may need."""
        return self.plan.context(column, ladder)

    def looked_at(self, name: str) -> list[str]:
        """Return the columns that the mask of a column looks at, itself first."""
        subject = self.subject if name in self.wide else None
        return list(dict.fromkeys([name, *self.masks[name].reads, *([subject] if subject is not None else [])]))

    def mask_plan(self, publications: Sequence[Publication]) -> MaskPlan:
        """Return what each published column is, as the checks of a table's release ask for it."""
        plan = self.plan
        masks = {name: mask for name, mask in self.masks.items() if name not in plan.quasi_identifiers}
        return MaskPlan(publications, masks, plan.kept, plan.published, {name: plan.context(name) for name in self.masks})


def way_of_view(resolved: Resolved) -> Way | Literal["rows"]:
    """Return how the records of a view go: each by itself where nothing is generalised and no mask looks at others."""
    way = way_of(resolved.algorithm)
    if way == "events":
        return way
    generalised = bool(resolved.columns("quasi_identifier"))
    wide = any(mask.card.scope in WIDE for mask in resolved.masks.values())
    if way == "clusters":
        return way if generalised else "rows"
    return way if generalised or wide else "rows"


def resolve_stream(policy: AnyPolicy, view: str | None = None) -> tuple[Resolved, str]:
    """Check a policy as one of a stream, and return one view of it with its name."""
    loaded = load(policy)
    if loaded.policy.tables:
        words, hint = "the policy has several tables, and a stream is one", "a policy without tables"
        raise PolicyError([Mistake("tables", words, "policy-stream", hint, loaded.lines.at(("tables",)))], name=loaded.name)
    views = resolve_views(_as_stream(loaded))
    name = named_view(views, view)
    return views.views[name], name


def _as_stream(loaded: Loaded) -> Loaded:
    return replace(loaded, policy=as_stream(loaded.policy))


def plan_stream(resolved: Resolved, view: str, schema: pa.Schema, loose: bool) -> StreamPlan:
    """Hold a view against the columns of a stream, and read the keys that its masks need.

    ``loose`` says that each record names its own columns, so that none is missed where nobody has named it yet.
    """
    source = find("sources", "memory")(table=schema.empty_table())
    translated(source, schema, resolved)
    resolved, unnamed = remove_unnamed(missing_as_read(resolved), schema)
    compare_columns(resolved, source, schema)
    keys = resolved.keys(dict.fromkeys(key for mask in resolved.masks.values() for key in mask.keys))
    # nothing is written here, and nothing is counted by a store
    nowhere: Any = None
    plan = Plan(resolved, source, find("sinks", "memory")(), nowhere, schema, view, unnamed, keys)
    refuse_documents(plan)
    refuse_misfits(plan)
    _refuse_bounds(plan)
    return StreamPlan(plan, loose)


def _refuse_bounds(plan: Plan) -> None:
    """Refuse bounds in a type that nobody knows before all values have come."""
    columns, mistakes = plan.resolved.policy.columns, []
    for name in plan.quasi_identifiers:
        field = plan.schema.field(name)
        if columns[name].publish == "typed_bounds" and (pa.types.is_string(field.type) or nested_type(field) is not None):
            if columns[name].type in ("integer", "date", "timestamp"):
                continue
            words = "typed_bounds have the type of the column, which is text in the stream"
            path = ("columns", name, "publish")
            mistakes.append(
                Mistake(
                    f"columns.{name}.publish", words, "policy-stream", "bounds, or type: integer, date or timestamp", plan.resolved.lines.at(path)
                )
            )
    if mistakes:
        raise PolicyError(mistakes, name=plan.resolved.name)
