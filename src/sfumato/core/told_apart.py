"""What tells sensitive values apart: the value, and not how somebody has written it.

A value that is missing, an empty text and what is no number among numbers are one: which of them a source holds hangs on who wrote it, and none says
anything of anybody.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core import canonical
from sfumato.core.canonical import ValueType
from sfumato.core.value_bytes import told_text

# a sign that no text of a type has
_NOT_OF_TYPE = "\0"


def told_apart(values: pa.Array, missing: Sequence[str] = (), kind: ValueType | None = None) -> pa.Array:
    r"""Return one text for each value, the same wherever and whenever it comes; null for one that is missing.

    Values of a declared type have its one writing; one that is not of it is told apart by its text.

    >>> told_apart(pa.array(["5", "5.00", "+5.0", "x", "?", None]), ["?"], "decimal").to_pylist()
    ['5', '5', '5', '\x00x', None, None]
    >>> told_apart(pa.array(["5", "5.00"])).to_pylist(), told_apart(pa.array([0.0, -0.0])).to_pylist()
    (['5', '5.00'], ['0', '0'])
    >>> told_apart(pa.array(["flu", "", None])).to_pylist(), told_apart(pa.array([float("nan"), 2.5])).to_pylist()
    (['flu', None, None], [None, '2.5'])
    """
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    coded = values.dictionary_encode()
    texts = pc.cast(canonical.as_text(coded.dictionary), pa.string())
    found = texts
    if kind not in (None, "text"):
        # what is no whole day may still be one instant
        others = pc.coalesce(told_text(texts, "timestamp"), texts) if kind == "date" else texts
        found = pc.coalesce(told_text(coded.dictionary, kind), pc.binary_join_element_wise(_NOT_OF_TYPE, others, ""))
    is_missing = pc.is_in(texts, value_set=pa.array([*missing, ""], pa.string()))
    if pa.types.is_floating(values.type):
        is_missing = pc.or_(is_missing, pc.fill_null(pc.is_nan(coded.dictionary), False))
    return pc.if_else(is_missing, pa.scalar(None, pa.string()), found).take(coded.indices)
