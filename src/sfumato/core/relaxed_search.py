"""Relaxed search: one that may put rows which are alike into different classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from sfumato.core.interfaces import Search


@runtime_checkable
class RelaxedSearch(Protocol):
    """A search that deals out rows that are alike where its settings say ``relaxed``, and knows the one that never does."""

    @property
    def relaxed(self) -> bool:
        """Whether its classes may overlap."""
        ...

    def strict(self) -> Search:
        """Return the search with which it is compared."""
        ...


def deals_out(search: object) -> bool:
    """Return whether a search deals out rows that are alike.

    >>> deals_out(object())
    False
    """
    return isinstance(search, RelaxedSearch) and search.relaxed
