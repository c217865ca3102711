"""What a check finds: promises that are not kept, each once however often, and what could not be checked. Never a value."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Broken:
    """A promise that is not kept: what is wrong, how often, where first, and what was found there where something was asked for."""

    promise: str
    what: str
    first: str
    found: float | None = None
    asked: float | None = None
    times: int = 1

    def sentence(self) -> str:
        """Return it in words.

        >>> Broken("k_anonymity", "a class has too few people", "row 17", 2, 3, times=4).sentence()
        'k_anonymity: a class has too few people, 4 times, first at row 17: found 2, asked 3'
        """
        often = f", {self.times:,} times, first" if self.times > 1 else ","
        numbers = "" if self.found is None or self.asked is None else f": found {as_text(self.found)}, asked {as_text(self.asked)}"
        return f"{self.promise}: {self.what}{often} at {self.first}{numbers}"


def as_text(number: float) -> str:
    """Return a number as it is told: a whole one as such.

    >>> as_text(1_747_031), as_text(3.0), as_text(0.123456)
    ('1,747,031', '3', '0.1235')
    """
    return f"{number:,.0f}" if math.isfinite(number) and number == int(number) else f"{number:.4g}"


@dataclass
class Findings:
    """Gathers what is found of one view."""

    broken: dict[tuple[str, str], Broken] = field(default_factory=dict)
    not_checked: list[str] = field(default_factory=list)
    measured: dict[str, float] = field(default_factory=dict)
    rows: int = 0
    """How many rows were held against their records."""

    def breaks(self, promise: str, what: str, first: str, found: float | None = None, asked: float | None = None) -> None:
        """Take note of something that is not as it was promised."""
        known = self.broken.setdefault((promise, what), Broken(promise, what, first, found, asked, times=0))
        known.times += 1

    def cannot(self, what: str) -> None:
        """Take note of something that nobody can check any more, or that is not checked here."""
        if what not in self.not_checked:
            self.not_checked.append(what)

    def least(self, name: str, value: float) -> None:
        """Take note of a measure of which the smallest counts."""
        self.measured[name] = min(value, self.measured.get(name, value))

    def most(self, name: str, value: float) -> None:
        """Take note of a measure of which the largest counts."""
        self.measured[name] = max(value, self.measured.get(name, value))

    def as_mapping(self) -> dict[str, Any]:
        """Return everything by name."""
        told = [
            {"promise": each.promise, "what": each.what, "times": each.times, "first": each.first, "found": each.found, "asked": each.asked}
            for each in self.broken.values()
        ]
        return {"broken": told, "not_checked": self.not_checked, "measured": self.measured, "rows_checked": self.rows}
