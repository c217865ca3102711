"""Columns that the stream writes in a form of its own, as ``formats`` says, in the canonical one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core import canonical
from sfumato.core.canonical import ValueType
from sfumato.engine.stream.dead_letters import Unfit
from sfumato.engine.stream.plan import StreamPlan


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
    return found
