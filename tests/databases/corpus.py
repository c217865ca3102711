"""Values on which engines do not agree, by column: what an expression must do the same with as the mask itself."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

VALUE = "it's \"v`"
"""What the column of values is called."""

LONG = "ä🙂b" * 9_000
TEXTS = [
    None,
    "",
    " ",
    "a",
    "A",
    "a ",
    " a",
    "ab",
    "abc",
    "abcd",
    "Muller",
    "muller",
    "Müller",
    "Mu\u0308ller",
    "MÜLLER ",
    "ß",
    "SS",
    "ﬁ",
    "i",
    "I",
    "İ",
    "日本語",
    "🙂",
    "🙂🙂",
    "👩‍👩‍👧",
    "e\u0301",
    "'",
    "''",
    '"',
    "\\",
    "\\\\",
    "a\\'b",
    "a\nb",
    "a\r\n",
    "\n",
    "\t",
    "%",
    "_",
    "a%b",
    "{0}",
    "$1",
    "&",
    "x" * 40,
    "5",
    "05",
    "5.0",
    "-0",
    "1e3",
    "NaN",
    "true",
    "TRUE",
    "True",
    "null",
    "NULL",
    "2020-01-31",
    "--",
    "/* */",
    "; DROP",
    "\u00a0",
    "\u2028x",
    "\ufeffa",
    LONG,
]
EMAILS = [
    *TEXTS,
    "ada@example.org",
    "a@b.de",
    "ab@b.de",
    "abc@b.de",
    "ä@ö.de",
    "🙂x@🙂.de",
    "a@b",
    "a@b.",
    "a@.b",
    "a@@b.de",
    "a@b@c.de",
    "@b.de",
    "a b@c.de",
    "a@b.de ",
    " a@b.de",
    "a@b.de\n",
    "a@b.de\v",
    "a\vb@c.de",
    "a\u00a0b@c.de",
    "a@b.c.d.e",
    "a'b@c.de",
    "a\\b@c.de",
    "A@B.DE",
    "x" * 60_000 + "@y.z",
    "a@" + "b." * 20_000 + "c",
    "a@" + "b." * 20_000 + "c@",
    "a@" + "b." * 20_000,
]
NUMBERED = [
    *TEXTS,
    "4111 1111 1111 1111",
    "4111111111111111",
    "4111111111111112",
    "378282246310005",
    "5555-5555-5555-4444",
    "4111--1111",
    "4222222222222",
    "0" * 12,
    "0" * 19,
    "0" * 20,
    "4111 1111 1111 1111 ",
    "4111 1111 1111 1111\n",
    "４１１１１１１１１１１１１１１１",
    "+49 421 123456",
    "0041 44 668 18 00",
    "(0421) 12-34-56",
    "12345",
    "1234",
    "123456789012345",
    "1234567890123456",
    "00123456789012345",
    "(00)49 421 12",
    "(0049 421 12",
    "+49\n421 123",
    "0421 123456\n",
    "+",
    "()",
    "00 12345",
    "0012345",
    "001234",
    "12.34/56",
    "+1 (2) 3-4.5",
    "28462",
    "SW1A 1AA",
    "1234 AB",
    "00-950",
    "gir 0aa",
    "GIR0AA",
    "W1A 0AX",
    "M1 1AE",
    "M1  1AE",
    "SW1A 1AA\n",
    "sw1a 1aA",
    "1",
    "12",
    "1 2",
    "1-2-3-4-5-6-7-8-9-0",
    "1-2-3-4-5-6-7-8-9-0-1",
    "Ä1",
    "123e4567-e89b-12d3-a456-426614174000",
    "123E4567-E89B-12D3-A456-426614174000",
    "0" * 32,
    "f" * 32,
    "F" * 31,
    "g" * 32,
    "123e4567-e89b-12d3-a456-42661417400",
    "0" * 32 + "\n",
    "123e4567e89b-12d3-a456-426614174000",
    "0" * 65_000,
]
WHOLE = [None, 0, 1, -1, 4, 5, -4, -5, 6, 9, 10, 14, 15, -15, 16, 17, 18, 19, 20, 29, 64, 65, 90, 91, 99, 100, 12345, -12345, 32767, -32768]
WIDE = [2**31 - 1, -(2**31), 2**53, 2**53 + 1, 10**18 - 1, -(10**18 - 1), 10**18, -(10**18), 10**18 - 6, 2**63 - 1, -(2**63), 999_999_999_999_999_995]
MONEY = [
    None,
    *(
        Decimal(text)
        for text in (
            "0",
            "0.01",
            "-0.01",
            "0.05",
            "0.10",
            "-0.05",
            "4.99",
            "5.00",
            "-5.00",
            "17.50",
            "17.99",
            "18.00",
            "64.99",
            "65",
            "89.99",
            "90.00",
            "90.01",
            "99999999.99",
            "-99999999.99",
            "99999999.95",
            "2.5",
            "-2.5",
            "0.25",
            "-0.25",
            "10.24",
            "10.25",
            "10.26",
        )
    ),
]
FINE = [
    None,
    *(Decimal(text) for text in ("0", "0.000001", "-0.000001", "999999999999.999999", "-999999999999.999999", "99999999999999999999.5", "0.5")),
]
DAYS = [
    None,
    *(
        datetime.date.fromisoformat(text)
        for text in (
            "0001-01-01",
            "0099-12-31",
            "0999-12-31",
            "1582-10-10",
            "1582-10-15",
            "1899-12-31",
            "1969-12-31",
            "1970-01-01",
            "1999-12-31",
            "2000-01-01",
            "2000-02-29",
            "2004-12-31",
            "2005-01-01",
            "2008-12-29",
            "2009-12-31",
            "2010-01-03",
            "2020-01-31",
            "2020-12-31",
            "2021-01-01",
            "2021-01-03",
            "2021-01-04",
            "2024-02-29",
            "2024-03-31",
            "2024-04-01",
            "9999-12-31",
        )
    ),
]
INSTANTS = [
    None if day is None else datetime.datetime(day.year, day.month, day.day, *clock)
    for day in DAYS
    for clock in ((0, 0), (23, 59, 59, 999_999), (12, 30), (12, 30, 0, 500_000), (1, 2, 3, 100))
]


@dataclass(frozen=True)
class Column:
    """A column of the corpus: its values, and its type in Arrow and on servers."""

    values: Sequence[Any]
    kind: pa.DataType
    postgresql: str
    mysql: str | None = None


COLUMNS = {
    "text": Column(TEXTS, pa.string(), "text"),
    "short": Column([text for text in TEXTS if text is None or len(text) <= 50], pa.string(), "varchar(50)"),
    "email": Column(EMAILS, pa.string(), "text"),
    "number": Column(NUMBERED, pa.string(), "text"),
    "small": Column(WHOLE, pa.int16(), "smallint"),
    "integer": Column([*WHOLE, 2**31 - 1, -(2**31)], pa.int32(), "integer", "int"),
    "wide": Column([*WHOLE, *WIDE], pa.int64(), "bigint"),
    "large": Column([*WHOLE, *(number for number in WIDE if abs(number) < 10**18)], pa.int64(), "bigint"),
    "money": Column(MONEY, pa.decimal128(10, 2), "numeric(10,2)", "decimal(10,2)"),
    "fine": Column(FINE, pa.decimal128(38, 6), "numeric(38,6)", "decimal(38,6)"),
    "round": Column([None, Decimal(0), Decimal(5), Decimal(-15), Decimal(10**20)], pa.decimal128(30, 0), "numeric(30,0)", "decimal(30,0)"),
    "day": Column(DAYS, pa.date32(), "date"),
    "instant": Column(INSTANTS, pa.timestamp("us"), "timestamp", "datetime(6)"),
    "truth": Column([None, True, False], pa.bool_(), "boolean"),
    "float": Column([None, 0.0, -0.0, 0.1, 1e300], pa.float64(), "double precision", "double"),
}
