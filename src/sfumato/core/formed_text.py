"""Masks of texts of one form, such as addresses and numbers of accounts: what is of another form they cannot take."""

from __future__ import annotations

import pyarrow as pa

from sfumato.core.mask import MaskContext, Operation


class FormedText(Operation):
    """A mask that needs nothing but the text itself, and makes nothing of a text of another form: so texts that are known can be tried."""

    def takes_some(self, texts: pa.Array) -> bool:
        """Return whether one at least of some texts is of the form."""
        made = self.apply(pa.RecordBatch.from_arrays([texts], ["made"]), MaskContext("made"))
        return bool(made.null_count < len(texts))
