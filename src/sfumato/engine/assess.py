"""Assess: the risk of a table as it is, before anything is done to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.html import html_sentence, html_table
from sfumato.core.interfaces import Progress, Source
from sfumato.core.kernels.grouping import group_columns, group_keys
from sfumato.core.quiet import Quiet
from sfumato.core.reading import CodedColumn, Reading, read
from sfumato.core.whose import Subject
from sfumato.engine.assessment_words import in_words
from sfumato.engine.columns_read import narrowed_to
from sfumato.engine.plan import as_source
from sfumato.errors import DataError, UsageError, suggestion
from sfumato.measures.reidentification import distinction, expected_in_population, journalist, reidentification, separation

# so many counters are filled at once rather than looked up one by one
_COUNTERS = 1 << 23
_BEST_PAIRS = 5
_TOLD = 10
_TELLING = ("unique", "separation", "distinction")


@dataclass(frozen=True, eq=False)
class Assessment:
    """What was found: numbers only, no value of the table."""

    rows: int
    people: int
    quasi_identifiers: tuple[str, ...]
    prosecutor: dict[str, Any]
    journalist: dict[str, Any] | None
    columns: list[dict[str, Any]]
    combinations: list[dict[str, Any]]

    @property
    def counts_people(self) -> bool:
        """Whether somebody has several rows, so that shares are of people."""
        return self.people != self.rows

    @property
    def counted(self) -> str:
        """What shares are of, in words: a person with several combinations counts once in each."""
        return "people in their combinations" if self.counts_people else "rows"

    def __str__(self) -> str:
        """Return what was found, in words."""
        return in_words(self)

    def _repr_html_(self) -> str:
        """Return what was found, for notebooks."""
        risk = self.prosecutor
        by, alone = ", ".join(self.quasi_identifiers), f"{risk['unique']:.2%}"
        of_people = f" of {self.people:,} people, who are alone in {alone} of their combinations of {by}"
        told = html_sentence(f"{self.rows:,} rows" + (of_people if self.counts_people else f", {alone} of them alone with their combination of {by}"))
        told += html_table(
            [
                ("highest", f"{risk['highest_risk']:.2%}"),
                ("on average", f"{risk['average_risk']:.2%}"),
                *((f"above {threshold}", f"{share:.2%} of the {self.counted}") for threshold, share in risk["at_risk"].items()),
            ],
            title="risk that somebody known to be in the table is found",
        )
        if self.journalist is not None:
            average, highest = self.journalist["average_risk"], self.journalist["highest_risk"]
            title = "risk that somebody of the population is found" + (", estimated" if self.journalist["estimated"] else "")
            told += html_table([("highest", f"{highest:.2%}"), ("on average", f"{average:.2%}")], title=title)
        telling = [(", ".join(about["columns"]), *(f"{about[measure]:.2%}" for measure in _TELLING)) for about in [*self.columns, *self.combinations]]
        return told + html_table(telling, ("", *_TELLING), "columns and combinations that single people out most")

    def as_mapping(self) -> dict[str, Any]:
        """Return it as plain values."""
        told = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value for name, value in told.items() if value is not None}


def assess(
    data: Any,
    quasi_identifiers: Sequence[str],
    subject: str | Subject | None = None,
    population: Any = None,
    progress: Progress | None = None,
) -> Assessment:
    """Measure how well people can be found by some columns, taken as they are; a missing value is a value like any other.

    ``data`` is an Arrow table, or anything that gives one by its interface, or a source. ``population`` is the number of people of whom the
    table is a part, or a table of all of them with the same columns.
    """
    progress = progress or Quiet()
    source = as_source(data)
    names = list(dict.fromkeys([quasi_identifiers] if isinstance(quasi_identifiers, str) else quasi_identifiers))
    whose = Subject(subject) if isinstance(subject, str) else subject
    looked_at = names if whose is None else [*names, whose.name]
    _refuse_unknown(source, looked_at)
    progress.stage("reading", source.about())
    reading = read(narrowed_to(source, looked_at), names, {}, progress, subject=whose)
    if not reading.rows:
        raise DataError("the source has no rows", code="source-empty", hint="run again when there are some")
    table = _Table(reading, names)
    progress.stage("counting", len(names) ** 2)
    sizes, groups = table.sizes(names)
    return Assessment(
        rows=reading.rows,
        people=table.people,
        quasi_identifiers=tuple(names),
        prosecutor=reidentification(sizes),
        journalist=_journalist(reading, names, sizes, groups, population, progress),
        columns=_ranked([table.about([name]) for name in names]),
        combinations=_most_telling(table, names, progress),
    )


class _Table:
    """The codes of the columns, and the sizes of what they group."""

    def __init__(self, reading: Reading, names: Sequence[str]) -> None:
        # null is -1: it becomes a code like any other
        self._codes = {name: reading.columns[name].codes.astype(np.int64) + 1 for name in names}
        self._rows = reading.rows
        self._spans = {name: len(reading.columns[name].values) + 1 for name in names}
        self._distinct = {name: int(np.count_nonzero(reading.columns[name].counts())) for name in names}
        self._people = None if reading.people is None else group_keys(reading.people.view(np.int64))[0].astype(np.int64)

    @property
    def people(self) -> int:
        """How many people there are: rows, where nothing says whose they are."""
        return self._rows if self._people is None else int(self._people.max(initial=-1)) + 1

    def sizes(self, names: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how many people each combination has, and the first row of each."""
        groups, firsts = group_columns([self._codes[name] for name in names], [self._spans[name] for name in names])
        if self._people is None:
            return np.bincount(groups, minlength=len(firsts)).astype(np.int64), firsts.astype(np.int64)
        _, once = group_columns([groups, self._people], [len(firsts), int(self._people.max(initial=0)) + 1])
        return np.bincount(groups[once], minlength=len(firsts)).astype(np.int64), firsts.astype(np.int64)

    def about(self, names: Sequence[str]) -> dict[str, Any]:
        """Return how well some columns tell people apart."""
        sizes = self._quick_sizes(names)
        return {
            "columns": list(names),
            "distinct": len(sizes),
            "distinction": distinction(sizes),
            "separation": separation(sizes),
            "unique": float(sizes[sizes == 1].sum() / max(1, sizes.sum())),
        }

    def _quick_sizes(self, names: Sequence[str]) -> NDArray[np.int64]:
        rows = len(self._codes[names[0]])
        if any(self._distinct[name] == rows for name in names):
            # where one column has no value twice, nothing with it has
            return np.ones(rows, np.int64)
        span = 1
        for name in names:
            span *= self._spans[name]
        if self._people is not None or span > _COUNTERS:
            return self.sizes(names)[0]
        key = np.zeros(len(self._codes[names[0]]), np.int64)
        for name in names:
            key = key * self._spans[name] + self._codes[name]
        counted = np.bincount(key)
        return counted[counted > 0].astype(np.int64)


def _most_telling(table: _Table, names: Sequence[str], progress: Progress) -> list[dict[str, Any]]:
    """Return the combinations of two and three columns that tell people apart best: all pairs, and the triples that hold a best pair."""
    pairs = []
    for pair in combinations(names, 2):
        pairs.append(table.about(pair))
        progress.advance(1)
    best = _ranked(pairs)[:_BEST_PAIRS]
    triples = {frozenset([*found["columns"], name]) for found in best for name in names if name not in found["columns"]}
    in_order = [[name for name in names if name in triple] for triple in triples]
    return _ranked([*pairs, *(table.about(triple) for triple in sorted(in_order))])[:_TOLD]


def _ranked(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(found, key=lambda about: (-about["unique"], -about["separation"], about["columns"]))


def _journalist(
    reading: Reading,
    names: Sequence[str],
    sizes: NDArray[np.int64],
    firsts: NDArray[np.int64],
    population: Any,
    progress: Progress,
) -> dict[str, Any] | None:
    if population is None:
        return None
    if isinstance(population, int) and not isinstance(population, bool):
        if population < sizes.sum():
            raise UsageError("a population is no smaller than the table", code="population-small", hint=f"at least {int(sizes.sum())}")
        return journalist(sizes, expected_in_population(sizes, population)) | {"estimated": True}
    everybody = as_source(population)
    _refuse_unknown(everybody, names, "population")
    progress.stage("population", everybody.about())
    whole = read(narrowed_to(everybody, names), names, {}, progress)
    if whole.rows < sizes.sum():
        raise UsageError("a population is no smaller than the table", code="population-small", hint="a table of everybody")
    elsewhere = _sizes_elsewhere(reading, whole, names, firsts)
    # whoever is in the table is somebody, whatever the other one says
    outside = float(np.maximum(sizes - elsewhere, 0).sum() / sizes.sum())
    return journalist(sizes, 1 / np.maximum(sizes, elsewhere)) | {"estimated": False, "not_in_population": outside}


def _sizes_elsewhere(reading: Reading, whole: Reading, names: Sequence[str], firsts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many rows of another table have each combination of this one; 0 where none has."""
    columns, spans = [], []
    for name in names:
        mine, theirs = reading.columns[name], whole.columns[name]
        columns.append(np.concatenate([mine.codes[firsts].astype(np.int64), _in_codes_of(mine, theirs)]) + 1)
        spans.append(int(columns[-1].max(initial=0)) + 1)
    groups, first_places = group_columns(columns, spans)
    counted = np.bincount(groups[len(firsts) :], minlength=len(first_places))
    return counted[groups[: len(firsts)]].astype(np.int64)


def _in_codes_of(mine: CodedColumn, theirs: CodedColumn) -> NDArray[np.int64]:
    """Return the codes of another table's column as codes of this one's; values that are not here get codes of their own."""
    import pyarrow.compute as pc

    from sfumato.core.canonical import as_text

    found = pc.index_in(as_text(theirs.values), value_set=as_text(mine.values)).to_numpy(zero_copy_only=False)
    strangers = np.isnan(found) if found.dtype.kind == "f" else np.zeros(len(found), bool)
    codes = np.where(strangers, len(mine.values) + np.arange(len(found)), np.nan_to_num(found)).astype(np.int64)
    translated: NDArray[np.int64] = np.append(codes, -1)[theirs.codes]
    return translated


def _refuse_unknown(source: Source, names: Sequence[str], called: str = "source") -> None:
    if not names:
        raise UsageError("no quasi-identifier is named", code="column-unknown", hint="--quasi-identifier age --quasi-identifier zip")
    known = source.describe().names
    for name in names:
        if name not in known:
            raise UsageError(f"the {called} has no column {name}", code="column-unknown", hint=suggestion(name, known))
