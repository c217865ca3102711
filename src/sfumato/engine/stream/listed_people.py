"""People in a list of lines, in every writing in which a stream may have them: one too many there hides nobody, one too few does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation

import pyarrow as pa

from sfumato.core import canonical

# beyond it a number is written with an exponent
_MOST_DIGITS = 40


def listed_people(lines: Iterable[str], are_numbers: bool) -> pa.Array:
    """Return the people of a list, as they stand there, without the spaces around them, and as numbers are written where they are numbers.

    >>> listed_people([" ada ", "", "05.0"], True).to_pylist()
    [' ada ', 'ada', '05.0', '5']
    """
    found = (text for line in lines if line.strip() for text in (line.rstrip("\r\n"), line.strip(), *(_as_number(line) if are_numbers else ())))
    return pa.array(list(dict.fromkeys(found)), pa.string())


def _as_number(line: str) -> Iterator[str]:
    try:
        number = Decimal(line.strip())
    except InvalidOperation:
        return
    if number.is_finite() and abs(number.adjusted()) < _MOST_DIGITS:
        # minus zero is zero
        yield f"{(number or abs(number)).normalize():f}"
        yield canonical.as_text(pa.array([float(number)]))[0].as_py()
