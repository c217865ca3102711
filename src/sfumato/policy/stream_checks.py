"""What must be true of a policy for a stream, and can be seen before the first record comes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.core.interfaces import WrittenHierarchy
from sfumato.core.mask import WIDE
from sfumato.core.mistakes import Place, key_text
from sfumato.core.publication import IN_TWO_COLUMNS, published_names
from sfumato.core.stream import HastySearch
from sfumato.core.stream_search import Way, way_of
from sfumato.core.yaml_text import yaml_text
from sfumato.errors import Mistake, UnreachableError, UsageError, suggestion
from sfumato.policy.lines import Lines
from sfumato.policy.model import Column, Component, Policy
from sfumato.policy.windows import StreamSettings, Window
from sfumato.registry import find

if TYPE_CHECKING:
    from sfumato.core.interfaces import Promise
    from sfumato.core.masked_column import MaskedColumn

_OF_TIMES = ("timestamp", "date", "integer", "decimal")
_WINDOW = "window: {count: 1000}, or {time: 10m, column: ..., lateness: 1m}"
_LEFT_OUT = "leave it out"
_LONGEST = 36_525 * 86_400_000_000


def is_stream(policy: Policy) -> bool:
    """Return whether a policy is for a stream: it or a view has windows, says how the stream is taken, or has a search for streams alone."""
    searches = [policy.algorithm, *(view.algorithm for view in policy.views.values() if view.algorithm is not None)]
    windows = [policy.window, *(view.window for view in policy.views.values())]
    return policy.stream is not None or any(window is not None for window in windows) or any(needs_no_window(search) for search in searches)


def needs_no_window(search: Component) -> bool:
    """Return whether a search, as a policy names it, is one for streams that works without windows."""
    return _way_of_named(search) not in ("windows", None)


def decides_of_events(search: Component) -> bool:
    """Return whether a search, as a policy names it, decides of each record by itself, and keeps a promise of its own."""
    return _way_of_named(search) == "events"


def _way_of_named(search: Component) -> Way | None:
    try:
        return way_of(search.instance if search.instance is not None else find("algorithms", search.name))
    except (UsageError, UnreachableError):
        # said by whoever looks for the search itself
        return None


def as_stream(policy: Policy) -> Policy:
    """Return a policy as one of a stream, whether or not it says so itself."""
    return policy if policy.stream is not None else policy.model_copy(update={"stream": StreamSettings()})


@dataclass(frozen=True, eq=False)
class StreamChecks:
    """What is wrong with one view of a policy as one of a stream; what follows only from another mistake is left out."""

    policy: Policy
    lines: Lines
    unknown: frozenset[Place]
    algorithm: Any
    promises: Mapping[int, Promise | None]
    masks: Mapping[str, MaskedColumn | None]

    def mistakes(self) -> list[Mistake]:
        """Return them all."""
        return [
            *self._window(),
            *self._jump(),
            *self._of_time(),
            *self._people(),
            *self._needs_a_window(),
            *self._beside(),
            *self._columns(),
            *self._search(),
            *self._noise(),
        ]

    def _noise(self) -> Iterator[Mistake]:
        """Yield noise by which all who seem to have shown something could be made up."""
        true = getattr(self.algorithm, "fewest_true", None)
        if true is not None and true < 1:
            words = "lets as many people be made up as must seem to have shown something, or more"
            hint = "a diffmax below the least z, which is z_min with tuning"
            yield self._wrong(("algorithm",), words, "policy-value", hint)

    def _wrong(self, path: Place, message: str, code: str, hint: str | None) -> Mistake:
        return Mistake(key_text(path), message, code, hint, self.lines.at(path))

    def _window(self) -> Iterator[Mistake]:
        window = self.policy.window
        if window is None or any(path[:1] == ("window",) for path in self.unknown):
            return
        kinds = [kind for kind in ("count", "time", "session") if getattr(window, kind) is not None]
        if len(kinds) != 1:
            what = f"names {' and '.join(kinds)}" if kinds else "says neither count nor time nor session"
            yield self._wrong(("window",), f"{what}, and a window is one of them", "policy-window", _WINDOW)
            return
        if window.count is not None:
            given = window.model_fields_set & {"column", "lateness", "unit", "starts"}
            for key in sorted(given):
                yield self._wrong(("window", key), "says something only of windows of time and of sessions", "policy-window", _LEFT_OUT)
            if window.most < window.count:
                yield self._wrong(("window", "most"), "lets fewer records be held than one window has", "policy-window", f"most: {window.count}")
        if window.time is not None and window.starts is not None:
            yield self._wrong(("window", "starts"), "says something only of sessions", "policy-window", _LEFT_OUT)
        for key in ("time", "session", "lateness"):
            if getattr(window, key) is not None and (window.allowed_lateness if key == "lateness" else window.length) > _LONGEST:
                yield self._wrong(("window", key), "is longer than a hundred years", "policy-window", f"{key}: 10m")
        if not window.length and window.count is None:
            yield self._wrong(("window", kinds[0]), "is no time at all", "policy-window", f"{kinds[0]}: 10m")
        yield from self._published_times(window)

    def _jump(self) -> Iterator[Mistake]:
        jump = None if self.policy.stream is None else self.policy.stream.longest_jump
        if jump is not None and not 0 < jump <= _LONGEST:
            yield self._wrong(("stream", "jump"), "is longer than a hundred years" if jump else "is no time at all", "policy-window", "jump: 1h")

    def _published_times(self, window: Window) -> Iterator[Mistake]:
        """Yield what is wrong with the columns that say when windows began and ended."""
        publish = window.publish
        if publish is None:
            return
        if window.count is not None:
            yield self._wrong(("window", "publish"), "says something only of windows of time", "policy-window", _LEFT_OUT)
            return
        if window.session is not None:
            words = "a session begins and ends at its person's own times, which nobody else has"
            yield self._wrong(("window", "publish"), words, "policy-window", "leave it out; windows of time, window: {time: 10m}, may say theirs")
            return
        names = [name for name in (publish.start, publish.end) if name is not None]
        if not names:
            yield self._wrong(("window", "publish"), "names no column", "policy-window", "publish: {start: window_start, end: window_end}")
        released = {*self.policy.columns} | {shown for name, column in self.policy.columns.items() for shown in published_names(name, column.publish)}
        for key, name in (("start", publish.start), ("end", publish.end)):
            if name in released or (key == "end" and name is not None and name == publish.start):
                yield self._wrong(("window", "publish", key), f"there is a column {name} already", "policy-window", f"{key}: window_{key}")

    def _of_time(self) -> Iterator[Mistake]:
        window = self.policy.window
        if window is None or window.count is not None or (window.time is None and window.session is None):
            return
        if window.column is None:
            if ("window", "column") not in self.unknown:
                yield self._wrong(("window",), "does not say which column has the time of a record", "policy-window", "column: at")
            return
        yield from self._named("column", window.column)
        column = self.policy.columns.get(window.column)
        if column is not None and column.type is not None and column.type not in _OF_TIMES:
            words = f"the column {window.column} is of type {column.type}, which says no time"
            yield self._wrong(("window", "column"), words, "policy-window-time", "a column of type timestamp, date, integer or decimal")
        for name in window.starts.reads if window.starts is not None else ():
            yield from self._named("starts", name)
        if window.session is not None and self.policy.subject is None:
            yield self._wrong(
                ("window", "session"), "sessions are those of people, and nothing says whose a record is", "policy-stream-subject", "subject: ..."
            )

    def _named(self, key: str, name: str) -> Iterator[Mistake]:
        if name not in self.policy.columns and ("columns",) not in self.unknown:
            hint = suggestion(name, self.policy.columns)
            yield self._wrong(("window", key), f"the column {name} is not among the columns", "policy-unknown-column", hint)

    def _people(self) -> Iterator[Mistake]:
        if self.policy.subject is not None or ("subject",) in self.unknown:
            return
        hint = "subject: ..., the column that says whose a record is"
        if self.policy.promises:
            words = "a stream has many records of one person, and promises are about people: nothing says whose a record is"
            yield self._wrong(("subject",), words, "policy-stream-subject", hint)
        elif self.algorithm is not None and way_of(self.algorithm) == "events":
            name = self.algorithm.component_name()
            yield self._wrong(("subject",), f"{name} counts people: nothing says whose a record is", "policy-stream-subject", hint)

    def _needs_a_window(self) -> Iterator[Mistake]:
        """Yield what needs a window and has none, and what needs none of its own and has one."""
        if self.algorithm is None or ("window",) in self.unknown:
            return
        way, wide = way_of(self.algorithm), [name for name, mask in self.masks.items() if mask is not None and mask.card.scope in WIDE]
        name = self.algorithm.component_name()
        if way == "windows" and self.policy.window is None:
            if any(column.role == "quasi_identifier" for column in self.policy.columns.values()):
                words = f"{name} generalises the records of a window together, and there is none"
                yield self._wrong(("window",), words, "policy-window-missing", _WINDOW)
            for column in wide:
                words = "looks at all records of a window, and there is none"
                yield self._wrong(("columns", column, "mask"), words, "policy-window-missing", _WINDOW)
        if way != "windows":
            if self.policy.window is not None:
                yield self._wrong(("window",), f"{name} works without windows of records", "policy-window", _LEFT_OUT)
            for column in wide:
                words = f"looks at all records of a window, and {name} has none"
                yield self._wrong(("columns", column, "mask"), words, "policy-stream", "another mask, or algorithm: mondrian with a window")

    def _beside(self) -> Iterator[Mistake]:
        """Yield what is said of tables and means nothing of a stream."""
        if self.policy.order == "source" and not self.policy.promises:
            yield self._wrong(("order",), "source order would tell which record is whose", "policy-order", _LEFT_OUT)
        if self.policy.suppression_limit:
            words = "is a part of all rows, and a stream never has all"
            yield self._wrong(("suppression_limit",), words, "policy-stream", "window: {on_small: suppress} leaves out what cannot be published")
        if self.policy.retention is not None:
            yield self._wrong(("retention",), "archives rows of a table, and this is a stream", "policy-stream", _LEFT_OUT)

    def _columns(self) -> Iterator[Mistake]:
        for name, column in self.policy.columns.items():
            for key, words, hint in _of_column(column):
                yield self._wrong(("columns", name, key), words, "policy-stream", hint)
            # above the lowest level columns have nodes, which are no means
            if column.publish in IN_TWO_COLUMNS and getattr(self.algorithm, "publish", None) == "mean" and not column.level.minimum:
                words = f"bounds are two numbers, and {self.algorithm.component_name()} publishes the mean, which is one"
                hint = "publish: interval, or algorithm: {microaggregation: {publish: box}}"
                yield self._wrong(("columns", name, "publish"), words, "policy-stream", hint)

    def _search(self) -> Iterator[Mistake]:
        if self.algorithm is None or way_of(self.algorithm) == "windows":
            return
        if way_of(self.algorithm) == "events":
            yield from self._events()
            return
        name = self.algorithm.component_name()
        known = [promise for promise in self.promises.values() if promise is not None]
        if known and len(known) == len(self.promises) and not any(promise.component_name() == "k_anonymity" for promise in known):
            words = f"{name} gathers k people in a cluster, and nothing says how many that are"
            yield self._wrong(("promises",), words, "policy-stream", "k_anonymity: {k: 5} beside them")
        if isinstance(self.algorithm, HastySearch):
            for k in (int(promise.asked) for promise in known if promise.component_name() == "k_anonymity"):
                short = self.algorithm.too_short(k)
                if short is not None:
                    yield self._wrong(("algorithm",), short, "policy-stream", f"at least {k - 1}, and better a hundred times that")
        for column in dict.fromkeys(column for promise in known for column in promise.reads):
            mask = self.masks.get(column)
            if mask is not None and (mask.card.scope != "value" or not mask.card.deterministic):
                words = f"a promise looks at the column, and {name} must know what becomes of a value before it is published"
                yield self._wrong(("columns", column, "mask"), words, "policy-stream", "a mask that is a function of the value, or none")
        for column, entry in self.policy.columns.items():
            if entry.publish == "set" and not _is_written(entry.hierarchy):
                words = f"publishes all that is below a node, and {name}, which uses clusters again, goes on to put values there"
                yield self._wrong(
                    ("columns", column, "publish"), words, "policy-stream", "publish: label, or a taxonomy or table that is written down"
                )
            if entry.on_unknown == "generalise":
                words = f"{name} uses clusters again, in which unknown values could not be told from missing ones"
                yield self._wrong(("columns", column, "on_unknown"), words, "policy-stream", "on_unknown: suppress")
        for place, promise in self.promises.items():
            for column, scale in promise.scales.items() if promise is not None else ():
                if scale == "ordered" and column in self.policy.columns and self.policy.columns[column].hierarchy is None:
                    words = f"measures distances by the order of all values of {column}, and {name} does not wait for them"
                    hint = f"{yaml_text(column)}: {{role: sensitive, hierarchy: ...}} written down, or algorithm: mondrian with a window"
                    yield self._wrong(("promises", place), words, "policy-stream", hint)

    def _events(self) -> Iterator[Mistake]:
        """Yield what is wrong where each record is decided of by itself."""
        name, columns = self.algorithm.component_name(), self.policy.columns
        attribute, taxonomy = self.algorithm.attribute_columns, getattr(self.algorithm, "taxonomy", None)
        noise = getattr(self.algorithm, "noise", None)
        of_noise = [] if noise is None else [*([noise.opted_out] if noise.opted_out else []), *noise.copied]
        for column in dict.fromkeys([*attribute, self.algorithm.time, *of_noise]):
            if column not in columns and ("columns",) not in self.unknown:
                words = f"{name} looks at the column {column}, which the policy does not name"
                yield self._wrong(("algorithm",), words, "policy-unknown-column", suggestion(column, columns))
        for column in attribute:
            if column in columns and (columns[column].mask is not None or columns[column].role not in ("sensitive", "other")):
                words = f"{name} publishes the column as far as enough people share it"
                key = "mask" if columns[column].mask is not None else "role"
                yield self._wrong(("columns", column, key), words, "policy-stream", "role: sensitive, without a mask")
        for column, entry in columns.items():
            if entry.role == "quasi_identifier" and column not in attribute:
                words = f"{name} generalises nothing but its attribute"
                yield self._wrong(("columns", column, "role"), words, "policy-stream", "another role, or algorithm: mondrian with a window")
        if self.promises:
            words = f"{name} makes classes of nobody, and keeps its own promise"
            yield self._wrong(("promises",), words, "policy-stream", _LEFT_OUT)
        when = columns[self.algorithm.time].type if self.algorithm.time in columns else None
        if when is not None and when not in _OF_TIMES:
            words = f"the column {self.algorithm.time} is of type {when}, which says no time"
            yield self._wrong(("algorithm",), words, "policy-window-time", "a column of type timestamp, date, integer or decimal")
        if taxonomy is not None and taxonomy in columns and not _is_written(columns[taxonomy].hierarchy):
            words = f"{name} generalises {taxonomy} by a hierarchy that is written down, and it has none: there are no values yet to make one from"
            yield self._wrong(("columns", taxonomy), words, "policy-hierarchy-missing", "hierarchy: {taxonomy: {path: ...}}")
        if noise is not None and not self.algorithm.original:
            yield from self._made_up({*attribute, self.algorithm.time, *noise.copied})

    def _made_up(self, copied: Collection[str]) -> Iterator[Mistake]:
        """Yield the published columns by which made-up records could be told."""
        for name, entry in self.policy.columns.items():
            mask, path = self.masks.get(name), ("columns", name, "role" if entry.mask is None else "mask")
            if (mask is None and (entry.mask is not None or entry.role == "identifier")) or (mask is not None and mask.drops):
                continue
            if name == self.policy.subject:
                if mask is not None and (not mask.card.deterministic or mask.reads):
                    words = "gives a person several names, and a made-up record could be told by the one that it has"
                    hint = f"{yaml_text(name)}: {{role: identifier}}, so that it is not published, or a mask that is a function of the value"
                    yield self._wrong(path, words, "policy-stream-noise", hint)
            elif name not in copied:
                words = "is published beside made-up records, which copy it from the true one: if it hangs on the person, they are told by it"
                hint = f"role: identifier, so that it is not published, or noise: {{copied: [{yaml_text(name)}]}} if it says nothing of the person"
                yield self._wrong(path, words, "policy-stream-noise", hint)


def _of_column(column: Column) -> Iterator[tuple[str, str, str]]:
    if column.unique:
        yield "unique", "can only be seen in a whole table, and a stream has no end", _LEFT_OUT
    if column.level.maximum is not None:
        yield "level", "has a maximum, for whose sake rows would be left out; windows are carried or left out whole", "level: {minimum: ...} alone"
    if column.publish == "range":
        yield "publish", "range is a type of databases", "interval or bounds"


def between_views(policy: Policy, lines: Lines) -> Iterator[Mistake]:
    """Yield what is said of views together and cannot be kept in a stream: each view decides of its records by itself."""

    def mistake(path: Place, words: str, hint: str) -> Mistake:
        return Mistake(key_text(path), words, "policy-stream", hint, lines.at(path))

    for name, view in policy.views.items():
        if view.derived_from is not None:
            words = "makes unions of another view's classes, and each view of a stream has its own windows"
            yield mistake(("views", name, "derived_from"), words, _LEFT_OUT)
    for reader, seen in policy.readers.items():
        if len(set(seen)) > 1:
            words = "sees several views, and what they tell together is not measured in a stream"
            yield mistake(("readers", reader), words, "one view for each reader, or a view of its own that shows what is needed")


def _is_written(hierarchy: Component | None) -> bool:
    """Return whether a hierarchy is known before any value is; one that nobody knows is told elsewhere."""
    if hierarchy is None:
        return False
    try:
        return issubclass(find("hierarchies", hierarchy.name), WrittenHierarchy)
    except UsageError:
        return True
