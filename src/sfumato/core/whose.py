"""Whose a row is: a subject that is missing and one that is an empty text are the same unknown person.

Which of the two a file holds hangs on who wrote it, and neither says anything of anybody: counted apart, nobody would be two people.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def known_people(subjects: pa.Array) -> pa.Array:
    """Return subjects with a missing one for each that is empty.

    >>> known_people(pa.array(["ada", "", None])).to_pylist()
    ['ada', None, None]
    >>> known_people(pa.array(["ada", "", "ada"]).dictionary_encode()).to_pylist()
    ['ada', None, 'ada']
    """
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


def known_person(subject: str | None) -> str | None:
    """Return a subject, None for one that is empty.

    >>> known_person("ada"), known_person(""), known_person(None)
    ('ada', None, None)
    """
    return subject or None
