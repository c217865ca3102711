"""Plan: a policy held against the real columns of its source, before anything is read or written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import ChoosySink, ClassSink, Identified, MadeOfOthers, Promise, RangeSink, Sink, Source, Store, TellingSource
from sfumato.core.keys import Keys
from sfumato.core.mask import MaskContext, type_of_arrow
from sfumato.core.mask_effect import Made
from sfumato.core.mistakes import key_text
from sfumato.core.moved_together import MovedTogether
from sfumato.core.nested_types import nested_type
from sfumato.core.publication import published_names
from sfumato.engine.as_published import as_published
from sfumato.engine.columns import compare_columns, remove_unnamed
from sfumato.engine.documents import refuse_documents
from sfumato.engine.foreign_keys import Link, Tables, linked, lost_keys
from sfumato.engine.frames import as_table, is_spark_frame
from sfumato.engine.in_view import in_view
from sfumato.engine.translated import missing_as_read, translated
from sfumato.errors import Mistake, PolicyError, UsageError, suggestion
from sfumato.policy.identity import own_domain
from sfumato.policy.load import Loaded, load
from sfumato.policy.mask_checks import WHICH_FIT
from sfumato.policy.model import Policy
from sfumato.policy.resolve import Resolved
from sfumato.policy.seed import seed_mistakes
from sfumato.policy.stream_checks import is_stream
from sfumato.policy.told_ways import ReadView, accepted_between
from sfumato.policy.views import ResolvedViews, resolve_views
from sfumato.registry import find

if TYPE_CHECKING:
    from sfumato.core.rehearsal import Rehearsal

_FEW = 50
_NESTED = "look at paths; others: remove, or others: keep, says what becomes of values that no path names"
AnyPolicy = str | Path | Mapping[str, Any] | Policy | Loaded


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything a run needs: the resolved policy, where rows come from and go to, and where the work is done."""

    resolved: Resolved
    source: Source
    sink: Sink
    store: Store
    schema: pa.Schema
    view: str = ""
    unnamed: Sequence[str] = ()
    keys: Keys = field(default_factory=Keys)
    rehearsal: Rehearsal | None = None
    told: Sequence[str] = ()
    """What the record says of the source, beside what is found out about its rows."""

    @property
    def quasi_identifiers(self) -> list[str]:
        """The columns that are generalised, in the policy's order."""
        return self.resolved.columns("quasi_identifier")

    @property
    def watched(self) -> list[str]:
        """The sensitive columns that a promise looks at."""
        return list(dict.fromkeys(name for promise in self.resolved.promises for name in promise.reads))

    @property
    def promises(self) -> list[Promise]:
        """What the search must keep: the promises, and those about a masked column also of what it becomes, where that is known before.

        Values that become one are no longer several, and twelve ciphertexts are not twelve illnesses: both must hold.
        """
        again = (as_published(promise, self._foreseen) for promise in self.resolved.promises if set(promise.reads) & self._foreseen)
        return [*self.resolved.promises, *again]

    @property
    def _foreseen(self) -> set[str]:
        """The sensitive columns whose masks are functions of the value."""
        masks = self.resolved.masks
        return {name for name in self.watched if name in masks and masks[name].card.scope == "value" and masks[name].card.deterministic}

    @property
    def masked(self) -> list[str]:
        """The columns that a mask changes."""
        return [name for name, mask in self.resolved.masks.items() if not mask.drops]

    @property
    def laddered(self) -> list[str]:
        """The columns whose masks look at their hierarchies."""
        return [name for name, mask in self.resolved.masks.items() if mask.needs_ladder]

    @property
    def kept(self) -> list[str]:
        """The columns that leave as they came."""
        return [name for name in self.resolved.columns("sensitive", "other") if name not in self.resolved.masks]

    @property
    def published(self) -> list[str]:
        """The columns of the release, in the source's order."""
        masks = self.resolved.masks
        gone = {name for name in self.resolved.columns("identifier") if name not in masks} | {name for name, mask in masks.items() if mask.drops}
        return [name for name in self.schema.names if name not in gone]

    def shown_as(self, column: str) -> tuple[str, ...]:
        """Return what a published column is called in the release: two names where its bounds are published."""
        found = self.resolved.policy.columns.get(column)
        return published_names(column, found.publish if found is not None and found.role == "quasi_identifier" else None)

    @property
    def released(self) -> list[str]:
        """The columns of the release as they are written."""
        return [column for name in self.published for column in self.shown_as(name)]

    @cached_property
    def nested(self) -> dict[str, pa.DataType]:
        """The columns of the source whose values are lists, structures or maps, which are read as text in JSON, and their types."""
        kinds = ((field.name, nested_type(field)) for field in self.schema)
        return {name: kind for name, kind in kinds if kind is not None}

    @cached_property
    def _moved(self) -> MovedTogether:
        return MovedTogether()

    def context(self, column: str, ladder: Hierarchy | None = None) -> MaskContext:
        """Return what the mask of a column may need."""
        policy = self.resolved.policy
        # tables are joined by their pseudonyms, views are not
        domain = own_domain(self.resolved.identity, "" if self.resolved.part == "table" else self.view)
        kinds = {name: each.type for name, each in policy.columns.items() if each.type is not None}
        subject, people, kind = self.resolved.subject, self.threshold, kinds.get(column)
        documents = self.nested.get(column)
        return MaskContext(column, domain, self.keys, kind, subject, people, ladder, kinds, documents, rehearsal=self.rehearsal, moved=self._moved)

    @property
    def as_read(self) -> ReadView:
        """What its readers see, as far as the policy says it."""
        return ReadView(self.resolved.policy, self.resolved.masks, self.resolved.lines)

    @property
    def threshold(self) -> int:
        """The number of people below which nothing is told of them: the largest k promised, at least 2."""
        return max([2, *(int(promise.asked) for promise in self.resolved.promises if promise.component_name() == "k_anonymity")])

    def as_counted(self, column: str, values: pa.Array) -> pa.Array:
        """Return the distinct values of a quasi-identifier as they are counted and generalised: after its mask, where it has one."""
        made = self.made(column, values)
        return values if made is None else made.values

    def made(self, column: str, values: pa.Array) -> Made | None:
        """Return what the mask of a quasi-identifier makes of its distinct values, and what it refuses; None where it has no mask."""
        mask = self.resolved.masks.get(column)
        return None if mask is None else mask.made(pa.RecordBatch.from_arrays([values], names=[column]), self.context(column))


@dataclass(frozen=True, eq=False)
class Plans:
    """The plans of a policy's views by name, those that others are derived from first; a policy without views is one without a name.

    ``known`` are the quasi-identifiers of the whole policy and of all views, ``identifying`` those and the identifiers: by them people can be known.
    Where ``are_tables`` these are the tables of a policy, each with a source of its own, and ``links`` the foreign keys between them and to others;
    ``lost_keys`` says which of them lose their primary keys, and why.
    """

    views: Mapping[str, Plan]
    derived_from: Mapping[str, str]
    readers: Mapping[str, Sequence[str]]
    known: frozenset[str] = frozenset()
    identifying: frozenset[str] = frozenset()
    are_tables: bool = False
    links: Sequence[Link] = ()
    lost_keys: Mapping[str, str] = field(default_factory=dict)

    @property
    def accepted(self) -> list[tuple[frozenset[str], str]]:
        """What readers of several views are told in ways that nobody can hold against each other, as the policy accepts, with the views that do."""
        return accepted_between({name: plan.as_read for name, plan in self.views.items()}, self.readers.values())

    @property
    def source(self) -> Source:
        """The one source of them all."""
        return next(iter(self.views.values())).source

    @property
    def parts(self) -> list[Plans]:
        """The plans of each source: all views have one, every table has its own."""
        return [replace(self, views={name: plan}) for name, plan in self.views.items()] if self.are_tables else [self]

    def up_to(self, view: str) -> Plans:
        """Return the plan of one view after those of the views it is derived from."""
        names = [view]
        while names[0] in self.derived_from:
            names.insert(0, self.derived_from[names[0]])
        return Plans({name: self.views[name] for name in names}, {name: self.derived_from[name] for name in names[1:]}, {})


def make_plans(policy: AnyPolicy, data: Any = None) -> Plans:
    """Check a policy with all its views, and its columns against those of its source."""
    loaded = load(policy)
    resolved = resolve_views(loaded)
    _refuse_stream(loaded)
    if resolved.are_tables:
        return _plans_of_tables(resolved, data)
    first = next(iter(resolved.views.values()))
    origin = _source(first, data)
    refused = list(seed_mistakes(origin, {}, False, first.lines, first.policy.seed is not None))
    if refused:
        raise PolicyError(refused, name=first.name)
    schema = origin.describe()
    source = translated(origin, schema, first)
    plans = {}
    for name, each in resolved.views.items():
        plans[name] = _planned(name, each, source, schema, told_of(origin))
        with in_view(name, each.own):
            _refuse_the_source(plans[name], origin)
            _refuse_release(plans[name])
    return Plans(plans, resolved.derived_from, resolved.readers, resolved.known, resolved.identifying)


def _refuse_stream(loaded: Loaded) -> None:
    """Refuse a policy whose rows never end: it would anonymise a beginning of them as if it were all."""
    if is_stream(loaded.policy):
        given = next((key for key in ("window", "stream") if getattr(loaded.policy, key) is not None), "algorithm")
        hint = "sfumato stream run, or sfumato.stream(policy) in Python; without window and stream it is a policy for tables"
        raise PolicyError([Mistake(given, "the policy is for a stream", "policy-of-stream", hint, loaded.lines.at((given,)))], name=loaded.name)


def _plans_of_tables(resolved: ResolvedViews, data: Any) -> Plans:
    """Check the tables of a policy, and each against the database; what is wrong with all of them is told together."""
    if data is not None:
        words = "the policy has several tables, which a database has, and data were given"
        raise UsageError(words, code="policy-tables-database", hint="leave data out, or a policy of one table")
    plans: dict[str, Plan] = {}
    with Tables(resolved.views) as tables:
        for name, each in resolved.views.items():
            with tables.mistakes(name):
                source = tables.source(name)
                schema = source.describe()
                plans[name] = _planned(name, each, translated(source, schema, each), schema, told_of(source))
                _refuse_in_place(plans[name])
                _refuse_release(plans[name])
        with tables.told():
            tables.refuse_twice(plans)
            tables.refuse_sources(plans)
            links = linked(plans, tables)
        lost = lost_keys(plans, tables)
    return Plans(plans, {}, {}, are_tables=True, links=links, lost_keys=lost)


def _planned(name: str, resolved: Resolved, source: Source, schema: pa.Schema, told: Sequence[str]) -> Plan:
    """Return the plan of a view or a table, whose columns are those of the source."""
    view, unnamed = remove_unnamed(missing_as_read(resolved), schema)
    compare_columns(view, source, schema)
    store: Store = find("stores", "duckdb")()
    return Plan(view, source, view.sink or find("sinks", "memory")(), store, schema, name, unnamed, told=told)


def told_of(source: Source) -> Sequence[str]:
    """Return what a reader of the record should know of a source, after it was described."""
    return source.told() if isinstance(source, TellingSource) else ()


def _refuse_release(plan: Plan) -> None:
    """Refuse what can be seen to be wrong with a release before anything is read."""
    refuse_documents(plan)
    _refuse_columns(plan)
    _refuse_ranges(plan)
    refuse_misfits(plan)


def make_plan(policy: AnyPolicy, data: Any = None, view: str | None = None) -> Plan:
    """Check a policy, and its columns against those of its source; return the plan of the whole policy, or of one of its views."""
    plans = make_plans(policy, data)
    return plans.views[named_view(plans, view)]


def named_view(plans: Plans | ResolvedViews, view: str | None) -> str:
    """Return the name of a view that was asked for, which is no name where the policy has none; refuse others."""
    known, part = [name for name in plans.views if name], "table" if plans.are_tables else "view"
    if view is None and known:
        raise UsageError(f"the policy has several {part}s", code="view-unknown", hint=f"--view {known[0]}, or view= in Python")
    if view is not None and view not in known:
        hint = suggestion(view, known) if known else "leave it out: the policy has no views"
        raise UsageError(f"the policy has no {part} {view}", code="view-unknown", hint=hint)
    return view or ""


def _refuse_the_source(plan: Plan, origin: Source) -> None:
    """Refuse a sink that is the source under another name, unless that is asked for; and then any other."""
    in_place, resolved = getattr(plan.sink, "in_place", False), plan.resolved
    same = False
    if isinstance(origin, Identified) and isinstance(plan.sink, Identified):
        known = origin.identity()
        sinks = plan.sink.parts() if isinstance(plan.sink, ClassSink) else [plan.sink]
        same = known is not None and known in [sink.identity() for sink in sinks]
        if same and not in_place:
            mistake = Mistake("sink", "would write over the table that the run reads", "sink-is-source", "name another", resolved.lines.at(("sink",)))
            raise PolicyError([mistake], name=resolved.name)
        if not same and isinstance(origin, MadeOfOthers) and any(origin.reads(sink) for sink in sinks):
            words = "would write over a table that the run reads, by way of a view"
            mistake = Mistake("sink", words, "sink-is-source", "name another", resolved.lines.at(("sink",)))
            raise PolicyError([mistake], name=resolved.name)
    if in_place and (not same or plan.view):
        words = "masks the table in place, and is not the one table that the run reads"
        mistake = Mistake("sink", words, "policy-in-place", "leave in_place out, or name the source", resolved.lines.at(("sink",)))
        raise PolicyError([mistake], name=resolved.name)


def _refuse_in_place(plan: Plan) -> None:
    """Refuse to mask one of several tables in place: they would not be masked in one step."""
    if getattr(plan.sink, "in_place", False):
        words, hint = "masks in place, which is done with one table alone", "a policy of its own for each table, without tables"
        raise PolicyError([Mistake("sink", words, "policy-in-place", hint, plan.resolved.lines.at(("sink",)))], name=plan.resolved.name)


def _refuse_columns(plan: Plan) -> None:
    """Refuse a release whose columns its sink cannot take."""
    resolved, released = plan.resolved, plan.released
    wrong = plan.sink.refuse_columns(released) if isinstance(plan.sink, ChoosySink) else None
    if isinstance(plan.sink, ClassSink) and plan.sink.classes is not None and not plan.quasi_identifiers:
        words, place = "there is no quasi_identifier, and so there are no classes", resolved.lines.at(("sink",))
        raise PolicyError([Mistake("sink", words, "policy-sink-columns", "leave classes out", place)], name=resolved.name)
    if wrong is not None:
        is_choice = 1 < len(released) < _FEW and getattr(plan.sink, "partition_by", None) is not None
        hint = f"name some of {', '.join(released)}" if is_choice else "another sink, such as release.csv, or a view of the source with other columns"
        raise PolicyError([Mistake("sink", wrong, "policy-sink-columns", hint, resolved.lines.at(("sink",)))], name=resolved.name)


def _refuse_ranges(plan: Plan) -> None:
    """Refuse ranges where the sink has no type for them, or the column's values have none."""
    columns, mistakes = plan.resolved.policy.columns, []
    has_ranges = isinstance(plan.sink, RangeSink) and plan.sink.has_ranges
    for name in plan.quasi_identifiers:
        if columns[name].publish != "range" or (has_ranges and columns[name].type != "text"):
            continue
        path = ("columns", name, "publish")
        what, hint = "the sink has no type for ranges", "typed_bounds, or a sink in PostgreSQL"
        if has_ranges:
            what, hint = "the column has no order", "label or set"
        mistakes.append(Mistake(key_text(path), f"range asked for, but {what}", "policy-range", hint, plan.resolved.lines.at(path)))
    if mistakes:
        raise PolicyError(mistakes, name=plan.resolved.name)


def refuse_misfits(plan: Plan) -> None:
    """Refuse masks that do not fit the types of their columns, before anything is read."""
    mistakes, columns = [], plan.resolved.policy.columns
    types = {field.name: columns[field.name].type or type_of_arrow(field.type) for field in plan.schema if field.name in columns}
    for name, mask in plan.resolved.masks.items():
        column, nested = plan.schema.field(name), plan.nested.get(name)
        wrong = mask.misfit(column.type, columns[name].type) if nested is None else mask.nested_misfit(nested)
        wrong = wrong or mask.window_misfit(types)
        if wrong is not None:
            path = ("columns", name, "mask")
            settings = mask.fitting(column.type, columns[name].type)
            hint = _NESTED if nested is not None else WHICH_FIT if settings is None else settings
            mistakes.append(Mistake(key_text(path), wrong, "policy-mask-type", hint, plan.resolved.lines.at(path)))
    if mistakes:
        raise PolicyError(mistakes, name=plan.resolved.name)


def with_keys(plans: Plans) -> Plans:
    """Return the plans with the keys that their masks need, each read once."""
    resolved = next(iter(plans.views.values())).resolved
    needed = dict.fromkeys(key for plan in plans.views.values() for mask in plan.resolved.masks.values() for key in mask.keys)
    keys = resolved.keys(needed)
    return replace(plans, views={name: replace(plan, keys=keys) for name, plan in plans.views.items()}) if needed else plans


def _source(resolved: Resolved, data: Any) -> Source:
    if data is not None:
        return as_source(data)
    if resolved.source is None:
        hint = "sfumato.run(policy, data=table), or source: data.csv in the policy"
        mistake = Mistake("source", "the policy names no source, and no data were given", "policy-no-source", hint)
        raise PolicyError([mistake], name=resolved.name)
    return resolved.source


def as_source(data: Any) -> Source:
    """Return the source that reads an Arrow table, a data frame, or anything that gives one by Arrow's interface; a source is one already."""
    if isinstance(data, Source):
        return data
    if is_spark_frame(data):
        spark: Source = find("sources", "spark")(frame=data)
        return spark
    source: Source = find("sources", "memory")(table=data if isinstance(data, pa.Table) else as_table(data))
    return source
