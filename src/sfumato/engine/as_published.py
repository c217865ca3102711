"""Promises about masked columns, measured also on what the column becomes: its values go by a name of their own."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import TYPE_CHECKING, Any

from sfumato.core.masked_column import AS_PUBLISHED

if TYPE_CHECKING:
    from sfumato.core.interfaces import Promise


def published_name(column: str) -> str:
    """Return the name of what a column becomes.

    >>> original_of(published_name("illness"))
    'illness'
    """
    return column + AS_PUBLISHED


def original_of(name: str) -> str:
    """Return the column that a name speaks of."""
    return name.removesuffix(AS_PUBLISHED)


def published_names(promises: Iterable[Promise]) -> list[str]:
    """Return the names by which promises speak of what columns become."""
    return [name for name in dict.fromkeys(name for promise in promises for name in promise.reads) if name.endswith(AS_PUBLISHED)]


def as_published(promise: Promise, masked: Set[str]) -> Promise:
    """Return a promise that speaks of what masked columns become, and of others as before."""
    changes: dict[str, Any] = {}
    for field, value in promise:
        if isinstance(value, str) and value in masked and field == "column":
            changes[field] = published_name(value)
        elif isinstance(value, list):
            changes[field] = [published_name(one) if one in masked else one for one in value]
    return promise.model_copy(update=changes)
