"""Totals of several columns and views: what those who see them, beside values that they see too, can work out of few people."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.mask import Told
from sfumato.core.number_columns import added_prints, numbers_of, numbers_printed
from sfumato.core.row_groups import parts_of_people
from sfumato.core.straight_line import on_a_line
from sfumato.engine.brackets import Bracketed, few_left, is_at_an_edge, opened, room, within
from sfumato.engine.chosen_values import few_may_have, is_cut_off
from sfumato.engine.differences import Groups, few_apart, few_in_common, few_people, smallest_group
from sfumato.engine.dominated_differences import dominated_difference, dominated_group
from sfumato.engine.shown_twice import few_who_may_have_it
from sfumato.engine.shown_values import MaskedView, Rows, Shown
from sfumato.engine.weighted_totals import Weighted, may_leave_few, straight

_Prints = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class ToldInView:
    """What a column of a view tells of groups of rows of the source."""

    view: str
    column: str
    told: Told

    @property
    def words(self) -> str:
        """How it is called."""
        return f"{self.column} in the view {self.view}" if self.view else self.column

    @property
    def adds_up(self) -> bool:
        """Whether it tells totals, and not only values."""
        return bool((self.told.groups >= 0).any())

    @property
    def chooses(self) -> bool:
        """Whether it tells one value of a group, an extreme or a mode."""
        return self.told.one_of is not None


@dataclass(frozen=True, eq=False)
class _Layer:
    """What some total adds up: of which columns it is made, and the value of each row, NaN where it has none in that total or no number."""

    of: frozenset[str]
    prints: _Prints
    numbers: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Family:
    """Totals of the same columns, and the values of each row that go into them.

    Masks may change values before they are added up, so that a row has several; most often ``layers`` is one. ``places`` says for each total
    which layer has the value that a row adds to it.
    """

    totals: Sequence[ToldInView]
    layers: Sequence[_Layer]
    places: Sequence[Groups]

    @classmethod
    def of(cls, totals: Sequence[ToldInView]) -> _Family:
        layers: list[_Layer] = []
        places = []
        for each in totals:
            place = np.full(len(each.told.added), -1, np.int64)
            concerned = (each.told.about >= 0) | each.told.known
            numbers = numbers_printed(each.told.added, concerned)
            for number, layer in enumerate(layers):
                place[(place < 0) & (layer.prints == each.told.added)] = number
            for number, layer in enumerate(layers):
                if each.told.of and (concerned & (place < 0)).any():
                    # 12 times the values add up to 12 times their total
                    place[(place < 0) & on_a_line(layer.numbers, numbers)] = number
            if not layers or (concerned & (place < 0)).any():
                layers.append(_Layer(each.told.of, each.told.added, numbers))
            place[place < 0] = len(layers) - 1
            places.append(place)
        return cls(totals, layers, places)

    def added(self, number: int) -> NDArray[np.float64]:
        """Return what each row adds to a total."""
        told = self.totals[number].told
        return numbers_printed(told.added, told.groups >= 0)

    @property
    def columns(self) -> frozenset[str]:
        """The columns of which something is added up."""
        return frozenset().union(*(each.told.of for each in self.totals))


@dataclass(frozen=True, eq=False)
class _Known:
    """Which values are known, layer by layer, sets of rows whose values are perhaps known too, and what shows them."""

    surely: Rows
    perhaps: Sequence[Rows]
    by: Sequence[str]

    def guesses(self) -> Iterator[Rows]:
        """Yield what may be known: nothing that is not sure, what one mask has left of some rows, or what all of them have."""
        yield self.surely
        if len(self.perhaps) > 1:
            yield from (self.surely | rows for rows in self.perhaps)
        if self.perhaps:
            yield self.surely | np.logical_or.reduce(self.perhaps)


class AllTold:
    """The totals of all views, and what those who see some of these views can work out."""

    def __init__(self, views: Sequence[MaskedView], totals: Sequence[ToldInView], table: pa.RecordBatch, people: NDArray[np.int32]) -> None:
        self._views, self._totals, self._table, self._people = views, totals, table, people
        self._shown: dict[tuple[str, str, frozenset[str]], Shown] = {}
        self._own: dict[str, tuple[_Prints, NDArray[np.float64]]] = {}
        self.not_held: dict[tuple[str, str], str] = {}

    def of_few(self, seen: Collection[str]) -> Iterator[str]:
        """Yield what tells of few people to whoever sees some views: the first thing for all totals of the same columns."""
        for totals in _families([each for each in self._totals if each.view in seen]):
            yield from islice(self._found(_Family.of(totals), seen), 1)

    def _found(self, family: _Family, seen: Collection[str]) -> Iterator[str]:
        mixed = [each for each in family.totals if each.told.mixed]
        if any(each.adds_up for each in family.totals) and (len(family.totals) > 1 or not mixed):
            known = self._known(family, seen)
            for surely in known.guesses():
                yield from self._few_of_sets(family, surely, family.places, known.by)
                if len(family.layers) > 1:
                    # what a mask has made of values before they are added up may be so near to them that it is the same
                    alike = np.broadcast_to(surely.any(axis=0), surely.shape)
                    yield from self._few_of_sets(family, alike, [np.zeros_like(place) for place in family.places], known.by)
        if mixed and len(family.totals) > 1:
            # whose an extreme is nobody is told, and the groups say of how many it may be
            for surely in self._known(family, seen, one_of=False).guesses():
                yield from self._few_in_any_order(family, surely)
        for each in mixed:
            yield from self._left_of_mixed(family, each, self._known(family, {*seen} - {each.view}))
        yield from self._shown_twice(family)
        yield from self._left_by_brackets(family, seen)
        yield from self._left_by_weights(family, seen)
        if any(each.chooses for each in family.totals):
            known = self._known(family, seen, one_of=False)
            for surely in known.guesses():
                yield from self._few_of_choices(family, surely, known.by)
        yield from self._chosen_beside_brackets(family, seen)

    def _known(self, family: _Family, seen: Collection[str], one_of: bool = True) -> _Known:
        """Return the values that some views show, surely and perhaps, those told of groups too where ``one_of`` says so, and what shows them."""
        by: list[str] = []
        perhaps: list[Rows] = []
        surely = np.zeros((len(family.layers), len(self._people)), bool)
        own = {name: np.zeros(len(self._people), bool) for name in family.columns}
        for view in self._views:
            before, known = len(perhaps), np.zeros(len(self._people), bool)
            for column in view.telling_of(family.columns) if view.name in seen else ():
                shown = self._shown_in(view, column, family.columns)
                for name in own:
                    same = shown.tells(*self._own_of(name)) | (shown.ends & (name == column))
                    known |= same
                    own[name] |= same
                for number, layer in enumerate(family.layers):
                    same = shown.tells(layer.prints, layer.numbers)
                    known |= same
                    surely[number] |= same
                    settled = np.zeros_like(surely)
                    for name in layer.of & {column}:
                        settled[number] = shown.settles(layer.prints, self._own_of(name)[0])
                    perhaps += [settled] if settled.any() else []
                perhaps += [np.broadcast_to(rows, surely.shape) for rows in shown.perhaps]
            by += [f"the view {view.name}" if view.name else "the release"] if known.any() or len(perhaps) > before else []
        for number, layer in enumerate(family.layers):
            if layer.of:
                # of whom the values are known that it is made of, nothing is left to be learnt
                surely[number] |= np.logical_and.reduce([own[name] for name in layer.of])
        for each, place in zip(family.totals, family.places, strict=True):
            if one_of and each.view in seen and each.told.known.any():
                rows = np.flatnonzero(each.told.known)
                surely[place[rows], rows] = True
                by.append(each.words)
        return _Known(surely, perhaps, by)

    def _shown_in(self, view: MaskedView, column: str, of: frozenset[str]) -> Shown:
        if (view.name, column, of) not in self._shown:
            self._shown[view.name, column, of] = view.shown(column, of, self._table)
        return self._shown[view.name, column, of]

    def _own_of(self, column: str) -> tuple[_Prints, NDArray[np.float64]]:
        if column not in self._own:
            values = self._table.column(column)
            self._own[column] = added_prints(values), numbers_of(values)
        return self._own[column]

    def _few_of_sets(self, family: _Family, known: Rows, places: Sequence[Groups], by: Sequence[str]) -> Iterator[str]:
        """Yield what some totals tell of few people, together and beside values that are known."""
        rows = np.arange(len(self._people))
        groups = [np.where(known[place, rows], -1, each.told.groups) for each, place in zip(family.totals, places, strict=True)]
        for some in _sets([number for number, each in enumerate(family.totals) if each.adds_up]):
            if len(some) > 1 or known.any():
                told = [family.totals[number] for number in some]
                found = self._few(told, [groups[number] for number in some], [places[number] for number in some], by)
                if found is None and len(some) <= 2:
                    found = self._dominated(family, some, groups, by)
                if found is not None:
                    yield found

    def _few(self, totals: Sequence[ToldInView], groups: Sequence[Groups], places: Sequence[Groups], by: Sequence[str]) -> str | None:
        names, shown = _listed([each.words for each in totals]), _showing(by)
        if all(each.told.mixed for each in totals):
            return None
        least = max(each.told.people for each in totals if not each.told.mixed)
        few = few_people(groups, self._people, least, places)
        if few is None:
            return None
        if len(totals) == 1:
            told = f"{names} tells a total of which {shown} all values but those of {few}"
        elif len(totals) == 2:
            apart = bool(((places[0] != places[1]) & (groups[0] >= 0) & (groups[1] >= 0)).any())
            what = "totals of groups or values that differ by" if apart else "totals of groups that differ by"
            told = f"{names} tell {what} {few}" + (f" beside what {shown}" if by else "")
        else:
            told = f"{names} together tell the total of {few}"
        return told if "fewer than" in few else f"{told}, fewer than {least}"

    def _dominated(self, family: _Family, some: Sequence[int], groups: Sequence[Groups], by: Sequence[str]) -> str | None:
        """Return what totals leave of enough people, one of whom makes up most of it."""
        told = [family.totals[number] for number in some]
        limits = [each.told.dominance for each in told if each.told.dominance is not None]
        if not limits or any(each.told.mixed for each in told):
            return None
        limit, least = min(limits), max(each.told.people for each in told)
        names, shown = _listed([each.words for each in told]), _showing(by)
        added = [family.added(number) for number in some]
        if len(told) == 1:
            if not dominated_group(groups[some[0]], self._people, added[0], limit, told[0].told.groups):
                return None
            return f"{names} tells a total of which {shown} so many values that of the others one person makes up more than {limit:g}"
        found = dominated_difference(groups[some[0]], groups[some[1]], self._people, added[0], added[1], limit)
        return f"{names} tell totals of groups that differ by {least} people or more {found}" if found is not None else None

    def _few_of_choices(self, family: _Family, known: Rows, by: Sequence[str]) -> Iterator[str]:
        """Yield of how few people extremes and modes tell, beside each other, beside totals and beside values that are known.

        One value of a group that is not told of the group without somebody is told because of them. Nothing adds up here, so that single groups are
        held against each other, whatever other masks have made of the values before; where more than two tell of the same values, as the third
        and the fourth largest do, also unions of groups, whose values can be put in one order.
        """
        rows = np.arange(len(self._people))
        told = [number for number, each in enumerate(family.totals) if not each.told.mixed and (each.chooses or each.adds_up)]
        several = sum(family.totals[number].chooses for number in told) > 2
        groups = {number: np.where(known[family.places[number], rows], -1, family.totals[number].told.about) for number in told}
        for some in [*([number] for number in told if known.any()), *combinations(told, 2)]:
            totals = [family.totals[number] for number in some]
            least = max(each.told.people for each in totals)
            few = self._few_chosen([groups[number] for number in some], least, several) if any(each.chooses for each in totals) else None
            if few is not None:
                names, shown = _listed([each.words for each in totals]), _showing(by)
                less = "" if "fewer than" in few else f", fewer than {least}"
                if len(some) == 1:
                    yield f"{names} tells one value of a group of which {shown} all values but those of {few}{less}"
                else:
                    yield f"{names} tell values or totals of groups that differ by {few}{less}" + (f" beside what {shown}" if by else "")

    def _few_chosen(self, groups: Sequence[Groups], least: int, several: bool) -> str | None:
        if len(groups) == 1 or several:
            return few_people(groups, self._people, least)
        return few_apart(groups[0], groups[1], self._people, least)

    def _few_in_any_order(self, family: _Family, known: Rows) -> Iterator[str]:
        """Yield whose values follow where some are shown in any order: a total tells which of these its group has, and so does one of them."""
        rows = np.arange(len(self._people))
        hidden = [~known[place, rows] for place in family.places]
        shown = np.logical_or.reduce([(each.told.groups >= 0) & each.told.mixed for each in family.totals])
        kinds = []
        for each, unknown in zip(family.totals, hidden, strict=True):
            # a total to which somebody adds what is shown nowhere tells nothing of the others
            open_ended = each.told.groups[unknown & ~shown & (each.told.groups >= 0)]
            kinds.append(np.where(unknown & ~np.isin(each.told.about, open_ended), each.told.about, -1))
        mixed = [number for number, each in enumerate(family.totals) if each.told.mixed]
        for some in [some for some in _sets(range(len(kinds))) if len(some) > 1]:
            if len({(family.totals[number].view, family.totals[number].column) for number in some}) == 1:
                # operations of one column after each other: only what the last one makes is shown
                continue
            least = max(family.totals[number].told.people for number in some)
            few = few_in_common([kinds[number] for number in some], self._people, least)
            if few is not None:
                named = [family.totals[number] for number in sorted({*some} if {*some} & {*mixed} else {*some, mixed[0]})]
                show = "show" if all(each.told.mixed for each in named) else "show, add up or choose from"
                yield f"{_listed([each.words for each in named])} {show} the values of groups that tell which are those of {few}, fewer than {least}"

    def _shown_twice(self, family: _Family) -> Iterator[str]:
        """Yield which extremes and modes show the value of somebody whom their groups have in common with few."""
        told = [each for each in family.totals if each.told.one_of is not None]
        found = few_who_may_have_it([each.told for each in told], self._people) if len(told) > 1 else None
        if found is not None:
            some, few = found
            names, least = _listed([told[number].words for number in some]), max(told[number].told.people for number in some)
            yield f"{names} show one value of groups that have {'1 person' if few == 1 else f'{few} people'} in common, fewer than {least}"

    def _left_by_brackets(self, family: _Family, seen: Collection[str]) -> Iterator[str]:
        """Yield which totals leave little open of what few people have, beside coarse values of all others."""
        for each in family.totals:
            if not each.adds_up or each.told.mixed or not each.told.of:
                continue
            shown = list(self._bracketed(each, seen))
            if not shown:
                continue
            # of all rows, those of groups of which nothing is told too
            added = numbers_printed(each.told.added, np.ones(len(self._people), bool))
            told = self._told_beside(each, added, seen)
            brackets, parts = [one for _, one in shown], self._parts(each, added)
            numbers = self._own_of(min(each.told.of))[1]
            # of whom it is told what they add nothing is open, before and after
            open_of_others, open_before, *rooms = (
                np.where(told, 0.0, widths) for widths in (*opened(brackets, added, parts), *room(brackets, added, numbers, parts))
            )
            few = few_left(each.told.groups, open_of_others, open_before, self._people, each.told.people)
            if few is None and each.told.people > 1 and is_at_an_edge(each.told.groups, rooms, open_before, self._people):
                few = 1
            if few is not None:
                people = "1 person" if few == 1 else f"{few} people"
                by = _showing(list(dict.fromkeys(f"the view {view}" if view else "the release" for view, _ in shown)))
                yield f"{each.words} tells a total of which {by} so much that less than a tenth is open of {people}, fewer than {each.told.people}"

    def _chosen_beside_brackets(self, family: _Family, seen: Collection[str]) -> Iterator[str]:
        """Yield which extremes and modes can be those of few people, by what is shown of all of their group."""
        for each in family.totals:
            shown = list(self._bracketed(each, seen)) if each.chooses and each.told.people > 1 and len(each.told.of) == 1 else []
            if not shown:
                continue
            added, about = numbers_printed(each.told.added, np.ones(len(self._people), bool)), each.told.about >= 0
            told = self._told_beside(each, added, seen)
            own = self._own_of(min(each.told.of))[1]
            known = within([one for _, one in shown], added, stating=np.array_equal(own[about], added[about]))
            known = replace(known, low=np.where(told, added, known.low), high=np.where(told, added, known.high))
            by = _showing(list(dict.fromkeys(f"the view {view}" if view else "the release" for view, _ in shown)))
            few = few_may_have(each.told, known, self._people)
            if few is not None:
                people = "1 person" if few == 1 else f"{few} people"
                less = "so many share it that each of them has it" if each.told.side == 0 else f"fewer than {each.told.people}"
                yield f"{each.words} tells one value of a group of which {by} so much that it can be only that of {people}, {less}"
            elif is_cut_off(each.told, known, self._people):
                yield f"{each.words} tells one value of a group of which {by} so much that less than a tenth is open of 1 person"

    def _told_beside(self, each: ToldInView, added: NDArray[np.float64], seen: Collection[str]) -> NDArray[np.bool_]:
        """Return the rows of which another column tells what they add to a total, in whatever unit."""
        told = np.zeros(len(added), bool)
        for view in self._views:
            for column in view.telling_of(each.told.of) if view.name in seen else ():
                if (view.name, column) != (each.view, each.column):
                    shown = self._shown_in(view, column, each.told.of)
                    told |= shown.tells(each.told.added, added)
                    told |= np.logical_and.reduce([shown.tells(*self._own_of(name)) for name in each.told.of])
        return told

    def _bracketed(self, each: ToldInView, seen: Collection[str]) -> Iterator[tuple[str, Bracketed]]:
        """Yield what all columns but its own say of the numbers that go into a total, each with its view; note what chance is in."""
        yield from self._asked(each, seen)
        for view in self._views:
            for column in view.telling_of(each.told.of) if view.name in seen else ():
                for of in sorted(each.told.of) if (view.name, column) != (each.view, each.column) else ():
                    if of != column and not view.reads_of(column, of):
                        continue
                    brackets = view.bracketed(column, of, self._table)
                    if (brackets.by_chance & (each.told.groups >= 0)).any():
                        told = f"{column} in the view {view.name}" if view.name else column
                        words = (
                            f"{each.words} is not held against the bounds within which chance has left values in {told}: both may tell more than each"
                        )
                        self.not_held.setdefault((each.view, view.name), words)
                    if (brackets.codes >= 0).any():
                        yield view.name, brackets

    def _asked(self, each: ToldInView, seen: Collection[str]) -> Iterator[tuple[str, Bracketed]]:
        """Yield what conditions on the numbers that go into a total say of them, each with its view.

        One condition on a column at that column itself leaves both sides without an end, and what is between is said by what it makes; two have
        something between them.
        """
        others = [
            (view.name, column, asked)
            for view in self._views
            if view.name in seen
            for column, asked in view.asked(each.told.of, self._table)
            if (view.name, column) != (each.view, each.column)
        ]
        if any(column not in each.told.of for _, column, _ in others) or len({asked.codes.tobytes() for _, _, asked in others}) > 1:
            yield from ((view, asked) for view, _, asked in others)

    def _parts(self, each: ToldInView, added: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return how often the number of each row goes into a total: once, by its part of its person's rows, or by a straight line; else None."""
        if len(each.told.of) != 1:
            return None
        (column,) = each.told.of
        _, numbers = self._own_of(column)
        rows = np.flatnonzero((each.told.groups >= 0) & np.isfinite(numbers))
        if not len(rows):
            return None
        for parts in (np.ones(len(added)), parts_of_people(each.told.groups, self._people)):
            if np.allclose(numbers[rows] * parts[rows], added[rows], rtol=1e-9, atol=0):
                return parts
        if on_a_line(numbers[rows], added[rows]).all():
            ends = rows[[np.argmin(numbers[rows]), np.argmax(numbers[rows])]]
            return np.full(len(added), abs(float(np.diff(added[ends])[0] / np.diff(numbers[ends])[0])))
        return None

    def _left_by_weights(self, family: _Family, seen: Collection[str]) -> Iterator[str]:
        """Yield which totals tell of few people because a reader knows with which weights their values were added up."""
        totals = [(each, family.added(number)) for number, each in enumerate(family.totals) if each.adds_up and not each.told.mixed and each.told.of]
        if len(totals) < 2:
            return
        known = {name: self._own_known(name, seen) for name in family.columns}
        found = [self._weighted(number, each, added, known) for number, (each, added) in enumerate(totals)]
        if not any(weighted is not None and is_weighted for weighted, is_weighted in found):
            return
        told = [(each, weighted) for (each, _), (weighted, _) in zip(totals, found, strict=True) if weighted is not None]
        least = max(each.told.people for each, _ in told)
        for some in _sets(range(len(told))):
            if len(some) > 1 and may_leave_few([told[number][1] for number in some], self._people, least):
                names = _listed([told[number][0].words for number in some])
                told_of = f"from which it may follow what fewer than {least} people add"
                yield f"{names} tell sums of the same values with weights that can be known, {told_of}"
                return

    def _own_known(self, name: str, seen: Collection[str]) -> NDArray[np.bool_]:
        """Return the rows whose value of a column some views show."""
        known = np.zeros(len(self._people), bool)
        for view in self._views:
            for column in view.telling_of({name}) if view.name in seen else ():
                known |= self._shown_in(view, column, frozenset([name])).tells(*self._own_of(name))
        return known

    def _weighted(
        self, number: int, each: ToldInView, added: NDArray[np.float64], known: Mapping[str, NDArray[np.bool_]]
    ) -> tuple[Weighted | None, bool]:
        """Return how unknown numbers go into a total, and whether with weights; nothing where all of them are known.

        Weights are those of a sum of multiples of columns; else, where all columns but one are shown, what the one was multiplied with. What is made
        of several that nobody sees, or by chance, is a number of its own.
        """
        rows = (each.told.groups >= 0) & np.isfinite(added)
        numbers = {name: self._own_of(name)[1] for name in sorted(each.told.of)}
        parts = self._parts(each, added)
        line = straight({name: values[rows] for name, values in numbers.items()}, added[rows]) if len(numbers) > 1 and each.told.weighed else None
        hidden = [name for name in numbers if (rows & ~known[name]).any()]
        if not hidden:
            return None, False
        if parts is not None:
            weights = {name: np.where(known[name], 0.0, parts) for name in numbers}
        elif line is not None:
            weights = {name: np.where(known[name], 0.0, weight) for name, weight in line.items()}
        elif len(hidden) == 1 and each.told.weighed and self._is_multiplied(numbers[hidden[0]], added, rows):
            values = numbers[hidden[0]]
            counts = rows & np.isfinite(values) & (values != 0)
            weights = {hidden[0]: np.where(known[hidden[0]], 0.0, np.divide(added, values, out=np.zeros_like(added), where=counts))}
        else:
            return Weighted(np.where(rows, each.told.groups, -1), {f"\0{number}": np.ones(len(added))}), False
        return Weighted(np.where(rows, each.told.groups, -1), weights), len(weights) > 1 or (parts is None and line is None)

    def _is_multiplied(self, numbers: NDArray[np.float64], added: NDArray[np.float64], rows: NDArray[np.bool_]) -> bool:
        """Return whether what is added up was made of numbers, most of which are no longer themselves: only some are changed beyond a limit."""
        same = on_a_line(np.where(rows, numbers, np.nan), np.where(rows, added, np.nan))
        return bool(np.isfinite(numbers[rows]).any()) and bool(same.sum() * 2 <= rows.sum())

    def _left_of_mixed(self, family: _Family, each: ToldInView, known: _Known) -> Iterator[str]:
        """Yield what is left of values that change places within groups of enough people, where other views show most of them."""
        place = family.places[family.totals.index(each)]
        shown = known.surely[place, np.arange(len(self._people))]
        groups = _of_enough(each.told, self._people)
        left = np.where(shown, -1, groups)
        if shown.any() and (left >= 0).any() and (few := smallest_group(left, self._people)) < each.told.people:
            number = "1 person" if few == 1 else f"{few} people"
            yield f"{each.words} shows the values of a group of which {_showing(known.by)} all but those of {number}, fewer than {each.told.people}"


def _families(totals: Sequence[ToldInView]) -> list[list[ToldInView]]:
    """Return totals of the same columns together, in their order; those that add up something of several columns belong to all of these."""
    families: list[list[ToldInView]] = []
    for each in totals:
        related = [family for family in families if any(each.told.of == other.told.of or each.told.of & other.told.of for other in family)]
        families = [family for family in families if family not in related]
        families.append([*(other for family in related for other in family), each])
    return families


def _of_enough(told: Told, people: NDArray[np.int32]) -> Groups:
    """Return the group of each row where it has as many people as may be told of, else -1: what fewer show, they show alone."""
    rows = told.groups >= 0
    pairs = np.unique(np.stack([told.groups[rows], people[rows]]), axis=1)
    sizes = np.append(np.bincount(pairs[0], minlength=1), 0)
    return np.where(sizes[told.groups] >= told.people, told.groups, -1)


def _sets(totals: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield single totals, pairs of them, of which the smallest difference is known exactly, and all of them."""
    yield from ([each] for each in totals)
    yield from combinations(totals, 2)
    if len(totals) > 2:
        yield totals


def _showing(by: Sequence[str]) -> str:
    return f"{_listed(by)} {'shows' if len(by) == 1 else 'show'}" if by else ""


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
