"""Which column of a policy was probably meant by a name that it does not know."""

from __future__ import annotations

from functools import lru_cache

from sfumato.errors import nearest


@lru_cache(maxsize=256)
def meant(absent: tuple[str, ...], others: tuple[str, ...]) -> str | None:
    """Return which of the columns that a record does not have is meant by one of its others: the only one, or the nearest; None where none is.

    >>> meant(("agee",), ("age", "note")), meant(("zip", "age"), ("agee",)), meant(("zip", "age"), ("note",))
    ('agee', 'age', None)
    """
    if len(absent) == 1:
        return absent[0]
    return next((found for name in others if (found := nearest(name, absent)) is not None), None)
