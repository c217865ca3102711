"""Search where the frequencies are too many to hold: cut elsewhere until the fragments fit, then fragment by fragment here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.elsewhere import DividingSearch, Elsewhere, FrequenciesElsewhere, Piece
from sfumato.core.frequencies import Frequencies
from sfumato.core.interfaces import Progress
from sfumato.core.kernels.grouping import group_columns
from sfumato.core.memory import MEMORY
from sfumato.core.problem import Problem
from sfumato.core.recoding import Recoding
from sfumato.engine.plan import Plan
from sfumato.errors import DataError


def undivided(plan: Plan) -> str | None:
    """Return why more combinations than fit cannot be searched piece by piece, as a clause; None where they can."""
    search, columns = plan.resolved.algorithm, plan.resolved.policy.columns
    if not isinstance(search, DividingSearch):
        return f"{plan.resolved.policy.algorithm.name} needs all of them at once"
    if search.undivided is not None:
        return search.undivided
    if plan.resolved.policy.subject is not None:
        return "people are counted by a subject"
    levels = [name for name in plan.quasi_identifiers if columns[name].level.minimum or columns[name].level.maximum is not None]
    return f"{', '.join(levels)} {'has' if len(levels) == 1 else 'have'} a least or a greatest level" if levels else None


def search_elsewhere(plan: Plan, problem: Problem, frequencies: FrequenciesElsewhere, progress: Progress) -> tuple[Frequencies, Recoding]:
    """Return what is told of the table, and the recoding; of both each class is one combination, and so is each that is left out."""
    table, search, reason = frequencies.table, plan.resolved.algorithm, undivided(plan)
    if table is None:
        raise AssertionError("frequencies that are elsewhere are somewhere")
    if reason is not None or not isinstance(search, DividingSearch):
        raise _too_many(frequencies.most, str(reason))
    whole = {each.number: (place, each) for place, each in enumerate(search.divide(problem, table, frequencies.most, progress))}
    lows: list[NDArray[Any]] = [each.lows[None, :] for _, each in whole.values()]
    highs: list[NDArray[Any]] = [each.highs[None, :] for _, each in whole.values()]
    rows = [np.array([each.rows for _, each in whole.values()], np.int64)]
    number = len(whole)
    progress.stage("searching", frequencies.rows)
    for piece in table.pieces(list(whole)):
        if piece.fragment in whole:
            table.decide(piece.keys, np.full(len(piece.keys), whole[piece.fragment][0], np.int32))
        else:
            found, class_of, sizes = _searched(search, replace(problem, suppressible=0), frequencies, piece, _Within(progress))
            table.decide(piece.keys, class_of + np.int32(number))
            lows.append(found.lows)
            highs.append(found.highs)
            rows.append(sizes)
            number += found.number
        progress.advance(int(piece.rows.sum()))
    return _told(frequencies, table, np.concatenate(lows), np.concatenate(highs), np.concatenate(rows))


def _too_many(most: int, reason: str) -> DataError:
    """Return the error for combinations that do not fit and cannot be divided."""
    return DataError(
        f"the table has more than {most:,} combinations of what is counted, which is what the memory allows, and they cannot be searched "
        f"piece by piece: {reason}; nothing has been published",
        code="cells-memory",
        hint=f"{MEMORY}=4GiB or more, algorithm: mondrian without relaxed and levels, or fewer or coarser quasi-identifiers",
    )


def _searched(
    search: Any, problem: Problem, whole: Frequencies, piece: Piece, progress: Progress
) -> tuple[Recoding, NDArray[np.int32], NDArray[np.int64]]:
    """Return the classes of a fragment, that of each of its cells, and how many rows each has."""
    codes = [np.ascontiguousarray(column) for column in piece.codes.T]
    groups, firsts = group_columns(codes, [hierarchy.outside + 1 for hierarchy in problem.hierarchies])
    columns = [groups, *piece.sensitive.values()]
    entries, starts = group_columns(columns, [len(firsts), *(len(whole.references[name]) for name in piece.sensitive)])
    part = Frequencies(
        piece.codes[firsts],
        groups[starts].astype(np.int32),
        np.bincount(entries, piece.rows, minlength=len(starts)).astype(np.int64),
        {name: values[starts] for name, values in piece.sensitive.items()},
        None,
        whole.references,
        whole.ladders,
    )
    found = search.search(problem, part, progress)
    class_of = found.class_of[groups]
    return found, class_of, np.bincount(class_of, piece.rows, minlength=found.number).astype(np.int64)


def _told(
    frequencies: FrequenciesElsewhere, table: Elsewhere, lows: NDArray[Any], highs: NDArray[Any], rows: NDArray[np.int64]
) -> tuple[FrequenciesElsewhere, Recoding]:
    left_out, left_out_rows = table.suppressed()
    sizes, numbers = table.sizes()
    combinations = np.concatenate([lows, left_out]).astype(np.int32)
    class_of = np.append(np.arange(len(lows)), np.full(len(left_out), -1)).astype(np.int32)
    told = replace(
        frequencies,
        combinations=combinations,
        combination=np.arange(len(combinations), dtype=np.int32),
        counts=np.append(rows, left_out_rows),
        sizes=sizes,
        numbers=numbers,
    )
    return told, Recoding("boxes", class_of, lows.astype(np.int32), highs.astype(np.int32))


@dataclass(frozen=True)
class _Within:
    """A progress of which the stages of each fragment are not told."""

    progress: Progress

    def stage(self, name: str, total: int | None = None) -> None:
        """Say nothing."""

    def advance(self, rows: int) -> None:
        """Say nothing: rows are counted by fragments."""
