"""The work of one push where each record is decided of at once, by what others have shown lately."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.encoding import encode, is_missing
from sfumato.core.events import LATE, SUPPRESSED, EventDecisions, Events
from sfumato.core.globe import on_the_globe
from sfumato.core.number_columns import numbers_of
from sfumato.engine.broken_release import broken
from sfumato.engine.stream.dead_letters import Unfit
from sfumato.engine.stream.incoming import Taken
from sfumato.engine.stream.masking import removed_of
from sfumato.engine.stream.names import Names, names_at
from sfumato.engine.stream.release import Pushed, StreamRelease
from sfumato.engine.stream.rows import Rows
from sfumato.engine.stream.verify import Promised, verify
from sfumato.engine.stream.work import Work

_NO = ("false", "0", "no", "")


class EventWork(Work):
    """Gives records to a search over events, and publishes what it lets out in the order in which it does.

    A made-up row has all columns of the record that it is made for but the person's: what it would be told by if it had not. Rows are not put into an
    order by chance, for records leave as they come.
    """

    def push(self, taken: Taken, unreadable: NDArray[np.int64], remains: Taken | None = None) -> Pushed:
        """Take records, of which the first is also the first for whoever was put into the list before this run."""
        further = self._opted_out.between(self.state.heeded, self._first)
        if self.search is not None and len(further):
            self.search.opt_out(further)
        self.state = replace(self.state, heeded=self._first)
        return super().push(taken, unreadable, remains)

    def _start(self) -> Any:
        search: Any = self._plan.resolved.algorithm
        taxonomy = getattr(search, "taxonomy", None)
        started = search.start(None if taxonomy is None else self._plan.resolved.ladders[taxonomy])
        started.opt_out(self._opted_out.between(-1, self._first))
        return started

    def _set_aside(self, columns: Mapping[str, pa.Array], unfit: Unfit) -> None:
        """Set records aside whose place is nowhere on the globe, or whose category the taxonomy does not know; a missing one only shows nothing."""
        search: Any = self._plan.resolved.algorithm
        if getattr(search, "taxonomy", None) is not None:
            outside = self._leaves(columns[search.taxonomy]) == self._plan.resolved.ladders[search.taxonomy].outside
            unfit.add(outside, "value-outside-hierarchy", search.taxonomy)
        if getattr(search, "latitude", None) is None:
            return
        for name, axis in ((search.latitude, "latitude"), (search.longitude, "longitude")):
            nowhere = ~on_the_globe({axis: numbers_of(columns[name])})
            if nowhere.any():
                is_given = ~is_missing(columns[name], self._plan.resolved.policy.columns[name].missing).to_numpy(zero_copy_only=False)
                unfit.add(nowhere & is_given, "place-impossible", name)

    def _look_at_letters(self, columns: Mapping[str, pa.Array], unfit: Unfit) -> None:
        """Take it from records that are set aside, too, who wants nothing made up: as from others, and a flag that cannot be read is a yes."""
        column, subject = self._plan.opted_out, self._plan.subject
        if column is None or subject is None or unfit.fits.all():
            return
        letters = unfit.letters(np.arange(len(unfit.fits)))
        unread = np.isin(np.arange(len(unfit.fits)), [letter.number for letter in letters if letter.column == column])
        wants = ~unfit.fits & (unread | _wanted(columns[column]))
        if wants.any():
            if self.search is None:
                self.search = self.started()
            self.search.opt_out(self._people.numbers(columns[subject].filter(pa.array(wants))))

    def _take(self, rows: Rows) -> None:
        if not len(rows):
            return
        if self.search is None:
            self.search = self.started()
        self.state = replace(self.state, clock=self.state.clock.later(rows.times))
        decisions: EventDecisions = self.search.push(self._events(rows))
        self._came_late(rows, decisions.levels == LATE)
        self._suppressed.append(rows.numbers[decisions.levels == SUPPRESSED])
        if len(decisions.places):
            self._hand_out(self._released(rows, decisions), [])
        self.state = replace(self.state, names=self._names(rows).without_the_gone(self.search.search.people))

    def _events(self, rows: Rows) -> Events:
        search: Any = self._plan.resolved.algorithm
        columns = [rows.came(name) for name in search.attribute_columns]
        attributes: Any
        if len(columns) > 1:
            attributes = np.stack([numbers_of(column) for column in columns], axis=1)
        elif getattr(search, "taxonomy", None) is not None:
            attributes = self._leaves(columns[0])
        else:
            attributes = columns[0].cast(pa.string())
        opted_out = None if self._plan.opted_out is None else _wanted(rows.came(self._plan.opted_out))
        return Events(rows.numbers, rows.times, rows.people, attributes, opted_out)

    def _leaves(self, values: pa.Array) -> NDArray[np.int32]:
        """Return where values stand in the taxonomy."""
        search: Any = self._plan.resolved.algorithm
        ladder, coded = self._plan.resolved.ladders[search.taxonomy], values.dictionary_encode()
        codes = encode(ladder, coded.dictionary, self._plan.resolved.policy.columns[search.taxonomy].missing).codes
        found: NDArray[np.int32] = np.append(codes, ladder.missing)[pc.fill_null(coded.indices, len(codes)).to_numpy(zero_copy_only=False)]
        return found

    def _names(self, rows: Rows) -> Names:
        """Return under which name each person is published, of those lately seen and these; the latest where it is another every time."""
        subject = self._plan.subject
        makes_up = getattr(self._plan.resolved.algorithm, "noise", True) is not None
        if subject is None or subject not in self._plan.plan.published or not makes_up:
            return self.state.names
        return self.state.names.later(dict(zip(rows.people.tolist(), rows.made(subject).to_pylist(), strict=True)))

    def _released(self, rows: Rows, decisions: EventDecisions) -> StreamRelease:
        true, places = ~decisions.is_fake, decisions.places
        is_all = bool(true.all()) and np.array_equal(places, np.arange(len(rows)))
        leaving, plan = rows if is_all else rows.taken(places), self._plan.plan
        columns = {}
        for name in plan.published:
            if name in decisions.published:
                published = decisions.published[name]
                columns[name] = published if is_all else published.take(pa.array(places))
            elif name == self._plan.subject:
                columns[name] = self._with_others(leaving.made(name), rows, decisions)
            else:
                columns[name] = leaving.made(name)
        public = pa.RecordBatch.from_pydict(columns)
        real = public if true.all() else public.filter(pa.array(true))
        verify(self._plan, real, leaving.where(true), [], Promised({}, {}, {}), whole=True)
        self._as_they_came(public, leaving, decisions.levels[places])
        numbers = np.where(decisions.is_fake, -1, leaving.numbers)
        references = {"z": _changes(decisions), "drawn": decisions.shown[decisions.is_fake]}
        return StreamRelease(public, numbers, leaving.numbers, references, removed_of(self._plan, real, leaving.where(true)))

    def _with_others(self, own: pa.Array, rows: Rows, decisions: EventDecisions) -> pa.Array:
        """Return the names that rows are published under: those of others where they are made up."""
        is_fake = decisions.is_fake
        if not is_fake.any() or self._plan.subject is None:
            return own
        others = names_at(self.state.names, rows.people, rows.made(self._plan.subject), decisions.shown[is_fake], decisions.places[is_fake])
        return pc.replace_with_mask(own, pa.array(is_fake), pa.array(others, own.type))

    def _as_they_came(self, public: pa.RecordBatch, leaving: Rows, levels: NDArray[np.int8]) -> None:
        """Check that an attribute that was not generalised is what it was, and that nothing else has left."""
        if (levels < 0).any():
            raise broken("holds a record that was not to be published", code="verify-rows")
        if len(self._plan.event_columns) > 1:
            # a place is always published as a cell
            return
        (name,) = self._plan.event_columns
        if name in public.schema.names:
            before, after = leaving.came(name).cast(pa.string()), public.column(name)
            if not pc.all(pc.or_(pa.array(levels != 0), pc.equal(before, after))).as_py():
                raise broken(f"holds in column {name} a kept value that differs from its original", code="verify-kept")


def _changes(decisions: EventDecisions) -> NDArray[np.int64]:
    """Return from which record on how many people were asked for, a row for each change."""
    firsts = np.flatnonzero(np.diff(decisions.thresholds, prepend=-1))
    return np.stack([decisions.numbers[firsts], decisions.thresholds[firsts]], axis=1)


def _wanted(flags: pa.Array) -> NDArray[np.bool_]:
    """Return where nothing may be made up; what is no clear no is a yes, and so is nothing at all."""
    texts = pc.utf8_lower(flags.cast(pa.string()))
    found: NDArray[np.bool_] = pc.invert(pc.is_in(texts, value_set=pa.array(_NO))).to_numpy(zero_copy_only=False)
    return found
