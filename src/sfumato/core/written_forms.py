"""How a source writes dates and numbers where it does not write them as we do: ``31.12.1999`` for a day, ``1.234,56`` for an amount.

A form is a pattern of ``strptime``, or the number 1234.56 as the source would write it. What does not fit the form stays as it is, and is
then no value of the type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from itertools import product

import pyarrow as pa
import pyarrow.compute as pc

_CLOCK = re.compile(r"%[HIMSp]")
_DIRECTIVES = re.compile(r"%(.)")
_KNOWN = "YymdbBjHIMSp%"
_FIRST_YEAR = "1000"
NUMBERS = {
    f"1{group}234{point}56": (group, point)
    for group, point in product(("", ".", ",", " ", "'", "\u2019", "\u00a0", "\u202f"), ",.")
    if group != point
}


@dataclass(frozen=True)
class WrittenForm:
    """One way of writing dates, instants or numbers.

    >>> WrittenForm.of("%d.%m.%Y").canonical(pa.array(["31.12.1999", "1999", None])).to_pylist()
    ['1999-12-31', '1999', None]
    >>> WrittenForm.of("1.234,56").canonical(pa.array(["1.250,5", "-7", "1.5.2"])).to_pylist()
    ['1250.5', '-7', '1.5.2']
    """

    pattern: str
    group: str = ""
    point: str = ""

    @classmethod
    def of(cls, text: str) -> WrittenForm:
        """Read a form; raise a ValueError that says what is wrong with it."""
        if text in NUMBERS:
            return cls(text, *NUMBERS[text])
        directives = _DIRECTIVES.findall(text)
        if not directives:
            raise ValueError("is neither a pattern of a date, such as %d.%m.%Y, nor the number 1234.56 as the source writes it, such as 1.234,56")
        strange = [directive for directive in directives if directive not in _KNOWN]
        if strange:
            raise ValueError(f"has a part that is not known: %{strange[0]}; known: {' '.join('%' + letter for letter in _KNOWN)}")
        day = "j" in directives or ("d" in directives and set("mbB") & set(directives))
        if not day or not set("Yy") & set(directives):
            raise ValueError("says no whole date: it needs a year, a month and a day, as in %d.%m.%Y")
        return cls(text)

    def canonical(self, texts: pa.Array) -> pa.Array:
        """Return texts of this form as the canonical ones of their type, others as they are."""
        return pc.coalesce(self._number(texts) if self.point else self._time(texts), texts)

    def _number(self, texts: pa.Array) -> pa.Array:
        group, point = re.escape(self.group), re.escape(self.point)
        digits = f"([0-9]+|[0-9]{{1,3}}({group}[0-9]{{3}})+)" if self.group else "[0-9]+"
        fits = pc.match_substring_regex(texts, f"^[+-]?{digits}({point}[0-9]+)?$")
        plain = pc.replace_substring(texts, self.group, "") if self.group else texts
        return pc.if_else(fits, pc.replace_substring(plain, self.point, "."), pa.scalar(None, pa.string()))

    def _time(self, texts: pa.Array) -> pa.Array:
        written = "%Y-%m-%dT%H:%M:%S" if _CLOCK.search(self.pattern) else "%Y-%m-%d"
        instants = pc.strptime(texts, format=self.pattern, unit="s", error_is_null=True)
        # Arrow takes the 30th of February for the 1st of March, and 99 for the year 99: what it does not write back as it was is read one by one
        same = pc.and_(pc.equal(pc.strftime(instants, format=self.pattern), texts), pc.greater_equal(pc.strftime(instants, format="%Y"), _FIRST_YEAR))
        found = pc.if_else(same, pc.strftime(instants, format=written), pa.scalar(None, pa.string()))
        if found.null_count == texts.null_count:
            return found
        rest = [None if known else self._one_time(text) for text, known in zip(texts.to_pylist(), found.is_valid().to_pylist(), strict=True)]
        return pc.coalesce(found, pa.array(rest, pa.string()))

    def _one_time(self, text: str | None) -> str | None:
        try:
            found = datetime.strptime(text or "", self.pattern)
        except ValueError:
            return None
        return found.isoformat() if _CLOCK.search(self.pattern) else found.date().isoformat()
