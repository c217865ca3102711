"""People in a list of lines, as the stream knows them: a line names whoever a record would be of that had it as its subject.

In each way in which the line may be meant: one too many there hides nobody, one too few does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation

import pyarrow as pa

from sfumato.core.canonical import ValueType
from sfumato.core.whose import known_people
from sfumato.engine.stream.exact_casts import cast, text_of_number

# what has more is no number that a column could hold
_MOST_DIGITS = 400


def listed_people(lines: Iterable[str], kind: pa.DataType, declared: ValueType | None) -> pa.Array:
    """Return the people of a list as values of the stream's column, those who are somebody.

    >>> listed_people(["ada ", ""], pa.string(), None).to_pylist(), listed_people(["05.0", "x"], pa.int64(), "integer").to_pylist()
    (['ada ', 'ada'], [5])
    """
    found = (text for line in lines if line.strip() for text in (line.rstrip("\r\n"), line.strip(), *_as_number(line)))
    people = cast(pa.array(list(dict.fromkeys(found)), pa.string()), kind)
    return people.filter(known_people(people, declared).is_valid()).unique()


def _as_number(line: str) -> Iterator[str]:
    try:
        number = Decimal(line.strip())
    except InvalidOperation:
        return
    if number.is_finite() and abs(number.adjusted()) < _MOST_DIGITS:
        yield text_of_number(number)
