"""How a source writes dates and numbers where it does not write them as we do: ``31.12.1999`` for a day, ``1.234,56`` for an amount.

A form is a pattern of ``strptime``, or the number 1234.56 as the source would write it. What does not fit the form stays as it is, and is
then no value of the type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import product
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
import pyarrow.compute as pc

_CLOCK = re.compile(r"%[HIMSp]")
_DIRECTIVES = re.compile(r"%(.)")
_KNOWN = "YymdbBjHIMSpz%"
# people type some of these for others
_ALIKE = {" ": "[ \u00a0\u202f]", "'": "['\u2019]"}
_FIRST_YEAR = "1000"
_NUMBER_END = ("2}", "3}", "4}")
_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")
NUMBERS = {f"1{group}234{point}56": (group, point) for group, point in product(("", ".", ",", " ", "'"), ",.") if group != point}


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
    time_zone: str | None = None

    @classmethod
    def of(cls, text: str, time_zone: str | None = None) -> WrittenForm:
        """Read a form; raise a ValueError that says what is wrong with it. With a time zone, instants are what its clocks show."""
        if text in NUMBERS:
            return cls(text, *NUMBERS[text])
        directives = _DIRECTIVES.findall(text)
        if not directives:
            raise ValueError("is neither a pattern of a date, such as %d.%m.%Y, nor the number 1234.56 as the source writes it, such as 1.234,56")
        strange = [directive for directive in directives if directive not in _KNOWN]
        if strange or _DIRECTIVES.sub("", text).count("%"):
            what = f"%{strange[0]}" if strange else "%"
            raise ValueError(f"has a part that is not known: {what}; known: {' '.join('%' + letter for letter in _KNOWN)}")
        told = [directive for directive in directives if directive != "%"]
        if len(set(told)) < len(told):
            raise ValueError("says one thing twice")
        if ("I" in told) != ("p" in told):
            raise ValueError("needs %I and %p together: eleven o'clock comes twice a day")
        day = "j" in told or ("d" in told and set("mbB") & set(told))
        if not day or not set("Yy") & set(told):
            raise ValueError("says no whole date: it needs a year, a month and a day, as in %d.%m.%Y")
        if time_zone is not None:
            _refuse_no_zone(time_zone)
        if time_zone is not None and ("z" in told or not _CLOCK.search(text)):
            raise ValueError("has a zone only where the pattern tells the time, and not its distance from UTC, %z")
        return cls(text, time_zone=time_zone)

    @cached_property
    def _shape(self) -> re.Pattern[str]:
        """How a text of the pattern looks; where one number follows another both have all their digits."""
        shape, rest = "", self.pattern
        while rest:
            found = _DIRECTIVES.match(rest)
            if found is None:
                shape, rest = shape + re.escape(rest[0]), rest[1:]
                continue
            rest = rest[2:]
            beside = shape.endswith(_NUMBER_END) or bool(_DIRECTIVES.match(rest))
            shape += _shape_of(found[1], beside)
        return re.compile(shape)

    def canonical(self, texts: pa.Array) -> pa.Array:
        """Return texts of this form as the canonical ones of their type, others as they are."""
        return pc.coalesce(self.fits(texts), texts)

    def read(self, text: str) -> str | None:
        """Return a text as it is read, be it of this form or a number in plain writing; None where it is neither.

        >>> WrittenForm.of("1.234,56").read("1.250,50"), WrittenForm.of("1.234,56").read("0.50"), WrittenForm.of("1.234,56").read("x")
        ('1250.5', '0.5', None)
        """
        found: str | None = self.fits(pa.array([text]))[0].as_py()
        if found is None and self.point:
            found = WrittenForm.of("1234.56").fits(pa.array([text]))[0].as_py()
        return found

    def fits(self, texts: pa.Array) -> pa.Array:
        """Return texts of this form as the canonical ones of their type, others as null."""
        return self._number(texts) if self.point else self._time(texts)

    def _number(self, texts: pa.Array) -> pa.Array:
        group, point = _ALIKE.get(self.group, re.escape(self.group)), re.escape(self.point)
        digits = f"([0-9]+|[1-9][0-9]{{0,2}}({group}[0-9]{{3}})+)" if self.group else "[0-9]+"
        fits = pc.match_substring_regex(texts, f"^[+-]?{digits}({point}[0-9]+)?$")
        plain = pc.replace_substring_regex(texts, group, "") if self.group else texts
        plain = pc.replace_substring(plain, self.point, ".")
        # two ways of writing one number are one number
        for pattern, kept in ((r"^\+", ""), (r"^(-?)0+([0-9])", r"\1\2"), (r"(\.[0-9]*?)0+$", r"\1"), (r"\.$", ""), (r"^-0$", "0")):
            plain = pc.replace_substring_regex(plain, pattern, kept)
        return pc.if_else(fits, plain, pa.scalar(None, pa.string()))

    def _time(self, texts: pa.Array) -> pa.Array:
        if "%z" in self.pattern:
            return pa.array([self._one_time(text) for text in texts.to_pylist()], pa.string())
        found = self._clock_time(texts)
        if self.time_zone is None:
            return found
        # of an hour that comes twice the first is meant
        instants = pc.assume_timezone(pc.cast(found, pa.timestamp("s")), timezone=self.time_zone, ambiguous="earliest", nonexistent="earliest")
        return pc.strftime(pc.cast(instants, pa.timestamp("s", tz="UTC")), format="%Y-%m-%dT%H:%M:%SZ")

    def _clock_time(self, texts: pa.Array) -> pa.Array:
        """Return dates and instants as they stand there."""
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
        if text is None or not self._shape.fullmatch(text):
            return None
        try:
            found = datetime.strptime(text, self.pattern)
        except ValueError:
            return None
        if "%z" not in self.pattern and _plainly(found.strftime(self.pattern)) != _plainly(text):
            # it says two things that cannot both be so, or a day that its year has not
            return None
        if found.tzinfo is not None:
            return f"{found.astimezone(UTC).replace(tzinfo=None).isoformat()}Z"
        return found.isoformat() if _CLOCK.search(self.pattern) else found.date().isoformat()


def _shape_of(directive: str, beside: bool) -> str:
    """Return what a directive matches: never so much that it could take long."""
    widths = {"Y": 4, "y": 2, "j": 3} | dict.fromkeys("mdHIMS", 2)
    if directive in widths:
        least = widths[directive] if beside or directive in "Yy" else 1
        return f"[0-9]{{{least},{widths[directive]}}}"
    return {"%": "%", "z": r"(Z|[+-][0-9]{2}:?[0-9]{2})", "p": "[AaPp][Mm]"}.get(directive, "[A-Za-z]{3,9}")


def _plainly(text: str) -> str:
    """Return a text by which two writings of one date are compared."""
    return _ZEROS.sub("", text).casefold()


def _refuse_no_zone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("has a time zone that nobody knows; write it as in Europe/Berlin") from None
