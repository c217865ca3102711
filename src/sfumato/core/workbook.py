"""What source and sink of Excel workbooks share: the text of a cell, characters that XML cannot hold, the limits of a sheet.

Office Open XML (ECMA-376): a character that XML cannot hold is written ``_x000D_``, and an underscore that would look like the beginning of
such a sign ``_x005F_``.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from typing import Any

MOST_ROWS = 1_048_576
MOST_COLUMNS = 16_384
LONGEST_TEXT = 32_767
ROWS_NAME = "sfumato_rows"
"""The name of the range that a release covers, where its last rows hold no value and would else be lost."""

_UNSPEAKABLE = re.compile("_(?=x)|[\x00-\x08\x0b-\x1f\ufffe\uffff]")
_SPELT = re.compile("_x([0-9A-Fa-f]{4})_")
_EXACT = 10**15


def spelt(text: str) -> str:
    r"""Return a text as a workbook holds it.

    >>> spelt("a\rb"), spelt("_x0041_"), spelt("_y")
    ('a_x000D_b', '_x005F_x0041_', '_y')
    """
    return _UNSPEAKABLE.sub(lambda found: f"_x{ord(found[0]):04X}_", text)


def spoken(text: str) -> str:
    r"""Return a text that a workbook holds as it was.

    >>> spoken("a_x000D_b"), spoken("_x005F_x0041_")
    ('a\rb', '_x0041_')
    """
    return _SPELT.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


def cell_text(value: Any, number_format: str = "") -> str | None:
    """Return the value of a cell as text: numbers without an end of zeros, dates and times as ISO 8601 has them, nothing as None.

    >>> cell_text(5.0), cell_text(0.1), cell_text(True), cell_text(datetime(2020, 1, 31)), cell_text(datetime(2020, 1, 31, 12, 30))
    ('5', '0.1', 'true', '2020-01-31', '2020-01-31 12:30:00')
    """
    if value is None or isinstance(value, str):
        return value if value is None else spoken(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < _EXACT else repr(value)
    if isinstance(value, datetime):
        # a day at midnight is a day, unless its column shows hours
        whole = value.time() == time() and "h" not in number_format.lower()
        return value.date().isoformat() if whole else value.isoformat(sep=" ")
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value) if isinstance(value, int | timedelta) else spoken(str(value))


def column_letters(number: int) -> str:
    """Return the name of a column of a sheet, counted from 1.

    >>> column_letters(1), column_letters(26), column_letters(27), column_letters(16384)
    ('A', 'Z', 'AA', 'XFD')
    """
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
