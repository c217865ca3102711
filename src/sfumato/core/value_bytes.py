"""How a value becomes the bytes of which pseudonyms are made: defined once, for every engine.

The bytes are the UTF-8 of one text for each value, whatever column, file or database it stands in:

- text as it is, byte for byte: no trimming, no change of case, no normalisation; the empty text is zero bytes
- whole numbers in decimal digits without plus sign or leading zeros, ``-0`` as ``0``
- decimals and binary fractions as the same number at its shortest: no zeros at the end, no point without digits behind it, no exponent. So ``5``,
  ``5.0`` and ``5.00`` of columns of any scale are one value, and the same as the whole number 5. A binary fraction is the shortest decimal that
  reads back as it
- truth values ``true`` and ``false``
- days ``2020-01-31``, instants ``2020-01-31T12:30:00Z`` in UTC, with as much of a fraction of a second as is not zero; without a zone it is UTC
- addresses in their canonical form

A column of text is text, even where it looks like numbers: ``5`` and ``5.0`` of a delimited file are two values unless the policy gives the column a
``type``. ``tests/vectors/pseudonyms.json`` holds known answers, by which every engine is tested.
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core import canonical
from sfumato.core.canonical import ValueType

_PLAIN = r"^[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?$"
_EXPONENT = r"^[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?[eE][+-]?[0-9]{1,3}$"
_MIDNIGHT = "T00:00:00Z"
_TEXT = pa.string()


def value_text(values: pa.Array, declared: ValueType | None = None) -> pa.Array:
    """Return the texts whose UTF-8 are the bytes of some values; null for a missing value and for one that is not of the declared type.

    >>> value_text(pa.array(["+5.00", "1e2", "x"]), "decimal").to_pylist(), value_text(pa.array([5.0, -0.0])).to_pylist()
    (['5', '100', None], ['5', '0'])
    """
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_timestamp(values.type):
        return pc.cast(canonical.parse(values, "date"), _TEXT) if declared == "date" else _instants(values)
    if pa.types.is_floating(values.type) or pa.types.is_decimal(values.type):
        numbers = _decimals(pc.cast(values, _TEXT))
        return pc.if_else(pc.match_substring(numbers, "."), pa.scalar(None, _TEXT), numbers) if declared == "integer" else numbers
    if not _is_text(values.type) or declared in (None, "text"):
        return pc.cast(values, _TEXT)
    text = pc.cast(values, _TEXT)
    if declared == "decimal":
        return _decimals(text)
    typed = canonical.parse(text, declared)
    return _instants(typed) if pa.types.is_timestamp(typed.type) else pc.cast(typed, _TEXT)


def told_text(values: pa.Array, declared: ValueType | None = None) -> pa.Array:
    """Return one text for all writings of a value: as ``value_text``, and a day is the instant at which it begins where either is declared.

    >>> told_text(pa.array(["2020-01-31T00:00Z", "2020-01-31", "2020-01-31T12:00Z"]), "date").to_pylist()
    ['2020-01-31', '2020-01-31', None]
    >>> told_text(pa.array(["2020-01-31", "2020-01-31 00:00"]), "timestamp").to_pylist()
    ['2020-01-31T00:00:00Z', '2020-01-31T00:00:00Z']
    """
    texts = value_text(values, declared)
    if declared not in ("date", "timestamp") or texts.null_count == values.null_count or not _is_text(values.type):
        return texts
    if declared == "timestamp":
        days = value_text(values, "date")
        return pc.coalesce(texts, pc.binary_join_element_wise(days, _MIDNIGHT, ""))
    instants = value_text(values, "timestamp")
    days = pc.if_else(pc.ends_with(instants, _MIDNIGHT), pc.utf8_slice_codeunits(instants, 0, -len(_MIDNIGHT)), pa.scalar(None, _TEXT))
    return pc.coalesce(texts, days)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _decimals(text: pa.Array) -> pa.Array:
    """Return decimals at their shortest; null for what is none, such as infinity. No number is calculated with, so none is rounded."""
    plain = pc.if_else(pc.match_substring_regex(text, _PLAIN), text, pa.scalar(None, _TEXT))
    if plain.null_count > text.null_count:
        written = [_without_exponent(value) for value in pc.if_else(pc.match_substring_regex(text, _EXPONENT), text, None).to_pylist()]
        plain = pc.coalesce(plain, pa.array(written, _TEXT))
    plain = pc.replace_substring_regex(plain, r"^\+", "")
    plain = pc.replace_substring_regex(plain, r"(\.[0-9]*[1-9])0+$", r"\1")
    return pc.replace_substring_regex(pc.replace_substring_regex(plain, r"\.0+$", ""), r"^-0$", "0")


def _without_exponent(text: str | None) -> str | None:
    return None if text is None else f"{Decimal(text):f}"


def _instants(values: pa.Array) -> pa.Array:
    """Return instants as ISO timestamps in UTC; null outside the years 1 to 9999."""
    inside = canonical.parse(values, "timestamp").is_valid()
    numbers = pc.if_else(inside, pc.cast(values, pa.int64()), pa.scalar(None, pa.int64()))
    return canonical.render(pc.cast(numbers, pa.timestamp(values.type.unit, tz="UTC")))
