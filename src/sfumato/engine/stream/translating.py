"""Columns that the stream writes in a form of its own, as ``formats`` says, in the canonical one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core import canonical
from sfumato.core.canonical import ValueType
from sfumato.core.encoding import is_missing
from sfumato.engine.stream.dead_letters import Unfit
from sfumato.engine.stream.plan import StreamPlan

_NUMBERS = ("integer", "decimal")


def in_canonical_form(plan: StreamPlan, columns: Mapping[str, pa.Array], unfit: Unfit) -> dict[str, pa.Array]:
    """Return the columns with dates and numbers as they are written everywhere.

    Set records aside whose value does not fit its form and yet would be read as something: 12.5 where the comma stands before decimals.
    """
    found, policy = dict(columns), plan.resolved.policy
    for name, given in policy.formats.items():
        if name not in columns:
            continue
        form, coded = given.form(), columns[name].dictionary_encode()
        texts = coded.dictionary.cast(pa.string())
        fits = form.fits(texts)
        missing = pc.is_in(texts, value_set=pa.array(list(policy.columns[name].missing), pa.string()))
        strange = pc.and_(pc.and_not(texts.is_valid(), missing), fits.is_null()).to_numpy(zero_copy_only=False)
        read_as: list[ValueType] = ["integer", "decimal"] if form.point else ["date", "timestamp"]
        told = np.logical_or.reduce([canonical.parse(texts, kind).is_valid().to_numpy(zero_copy_only=False) for kind in read_as])
        places = coded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
        unfit.add(np.append(strange & told, False)[places], "value-format", name)
        found[name] = pa.DictionaryArray.from_arrays(coded.indices, pc.coalesce(fits, texts)).dictionary_decode()
    _set_aside_other_types(plan, found, unfit)
    return found


def _set_aside_other_types(plan: StreamPlan, columns: Mapping[str, pa.Array], unfit: Unfit) -> None:
    """Set records aside whose text is no number where the policy declares one, as JSON lines do that tell numbers and texts apart."""
    for name, column in plan.resolved.policy.columns.items():
        values = columns.get(name)
        if values is None or column.type not in _NUMBERS or column.on_unknown != "error" or not pa.types.is_string(values.type):
            continue
        coded = values.dictionary_encode()
        # each by itself: which texts come together in one batch is by chance
        right = pc.or_(canonical.is_of_type(coded.dictionary, column.type), is_missing(coded.dictionary, column.missing))
        wrong = ~right.to_numpy(zero_copy_only=False)
        unfit.add(np.append(wrong, False)[coded.indices.fill_null(len(wrong)).to_numpy(zero_copy_only=False)], "value-type", name)
