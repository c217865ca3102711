"""Whose a row is: a subject that is missing and one that is an empty text are the same unknown person.

Which of the two a file holds hangs on who wrote it, and neither says anything of anybody: counted apart, nobody would be two people.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.canonical import ValueType, as_text, parse


def known_people(subjects: pa.Array) -> pa.Array:
    """Return subjects with a missing one for each that is empty, or no number among numbers.

    >>> known_people(pa.array(["ada", "", None])).to_pylist()
    ['ada', None, None]
    >>> known_people(pa.array(["ada", "", "ada"]).dictionary_encode()).to_pylist()
    ['ada', None, 'ada']
    >>> known_people(pa.array([5.0, float("nan"), None]).dictionary_encode()).to_pylist()
    [5.0, None, None]
    """
    if pa.types.is_dictionary(subjects.type) and pa.types.is_floating(subjects.type.value_type):
        subjects = subjects.dictionary_decode()
    if pa.types.is_floating(subjects.type):
        # what is no number names nobody
        return pc.if_else(pc.is_nan(subjects), pa.scalar(None, subjects.type), subjects)
    is_coded = pa.types.is_dictionary(subjects.type)
    texts = subjects.dictionary if is_coded else subjects
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
        return subjects
    empty = pc.equal(pc.binary_length(texts), 0)
    if not pc.any(empty).as_py():
        return subjects
    if not is_coded:
        return pc.if_else(empty, pa.scalar(None, texts.type), texts)
    codes = pc.if_else(empty.take(subjects.indices), pa.scalar(None, subjects.indices.type), subjects.indices)
    return pa.DictionaryArray.from_arrays(codes, texts, ordered=subjects.type.ordered)


def in_one_writing(subjects: pa.Array, kind: ValueType | None) -> pa.Array:
    """Return subjects that are texts of a declared type as all of that value are written; what is not of it stays as it is.

    >>> in_one_writing(pa.array(["5", "5.00", "+5.0", "x", None, "1e3"]), "decimal").to_pylist()
    ['5', '5', '5', 'x', None, '1000']
    >>> in_one_writing(pa.array(["::1", "0:0:0:0:0:0:0:1"]), "ip").to_pylist()
    ['::1', '::1']
    """
    if kind in (None, "text") or not pa.types.is_string(subjects.type):
        return subjects
    coded = subjects.dictionary_encode()
    texts = coded.dictionary
    written = _plain_numbers(texts) if kind == "decimal" else pc.coalesce(as_text(parse(texts, kind)), texts)
    return written.take(coded.indices)


def _plain_numbers(texts: pa.Array) -> pa.Array:
    """Return decimals without zeros at their end: how many there are hangs on nothing but who wrote them, and not on the others beside them."""
    is_plain = pc.match_substring_regex(texts, r"^[+-]?[0-9]+(\.[0-9]+)?$")
    plain = pc.replace_substring_regex(pc.replace_substring_regex(texts, r"^\+|\.0+$", ""), r"(\.[0-9]*[1-9])0+$", r"\1")
    others = pc.if_else(is_plain, pa.scalar(None, pa.string()), texts)
    read = pc.coalesce(as_text(parse(others, "decimal").cast(pa.float64())), texts)
    return pc.if_else(pc.equal(plain, "-0"), "0", pc.if_else(is_plain, plain, read))


def known_person(subject: str | None) -> str | None:
    """Return a subject, None for one that is empty.

    >>> known_person("ada"), known_person(""), known_person(None)
    ('ada', None, None)
    """
    return subject or None
