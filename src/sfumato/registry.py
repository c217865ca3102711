"""Finds a component by its file name, or by entry point in other packages.

A component of the kind ``promises`` called ``k_anonymity`` is the class ``KAnonymity`` of ``sfumato/promises/k_anonymity.py``.
Another package offers one with an entry point of the group ``sfumato.promises`` and that name. Files that begin with ``_`` are private.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from sfumato.core.other_names import operations_called
from sfumato.errors import UsageError, suggestion
from sfumato.key_material import named

KINDS = ("sources", "stores", "hierarchies", "promises", "algorithms", "masking", "sinks", "generators")


def find(kind: str, name: str) -> type[Any]:
    """Return the class of the component ``name`` of a kind.

    >>> find("promises", "k_anonymity").__name__
    'KAnonymity'
    """
    if name in _own_names(kind):
        module = importlib.import_module(f"sfumato.{kind}.{name}")
        found: type[Any] = getattr(module, class_name(name))
        return found
    for entry in entry_points(group=f"sfumato.{kind}", name=name):
        loaded: type[Any] = entry.load()
        return loaded
    known = names(kind)
    raise UsageError(
        f"there is no {named(repr(name), 'component of the name that is given')} among the {'masks' if kind == 'masking' else kind} of this version",
        code="component-unknown",
        hint=" or ".join(operations_called(name) if kind == "masking" else ()) or suggestion(name, known),
    )


def names(kind: str) -> list[str]:
    """Return the names of all components of a kind, those of other packages included, in alphabetical order.

    >>> "k_anonymity" in names("promises")
    True
    """
    foreign = {entry.name for entry in entry_points(group=f"sfumato.{kind}")}
    return sorted(_own_names(kind) | foreign)


def class_name(name: str) -> str:
    """Return the name of the class that a file defines.

    >>> class_name("t_closeness")
    'TCloseness'
    """
    return "".join(part.capitalize() for part in name.split("_"))


@cache
def _own_names(kind: str) -> frozenset[str]:
    package = importlib.import_module(f"sfumato.{kind}")
    return frozenset(module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_"))
