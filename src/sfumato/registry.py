"""Finds a component by its file name, or by entry point in other packages.

A component of the kind ``promises`` called ``k_anonymity`` is the class ``KAnonymity`` of ``sfumato/promises/k_anonymity.py``.
Another package offers one with an entry point of the group ``sfumato.promises`` and that name. Files that begin with ``_`` are private.
One that cannot be loaded is an error for whoever names it, and no reason to show nothing of all others.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from sfumato.core.other_names import hint_for
from sfumato.errors import UnreachableError, UsageError, suggestion
from sfumato.key_material import named

_NEEDED = {
    "sources": ("describe", "batches"),
    "hierarchies": ("build",),
    "promises": ("holds", "measure"),
    "masking": ("card", "apply"),
    "sinks": ("places", "open"),
}
"""What a component of a kind must have at least."""

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
        return _loaded(kind, entry)
    known = names(kind)
    raise UsageError(
        f"there is no {named(repr(name), 'component of the name that is given')} among the {'masks' if kind == 'masking' else kind} of this version",
        code="component-unknown",
        hint=(hint_for(name) if kind == "masking" else None) or suggestion(name, known),
    )


def names(kind: str) -> list[str]:
    """Return the names of all components of a kind, those of other packages included, in alphabetical order.

    >>> "k_anonymity" in names("promises")
    True
    """
    foreign = {entry.name for entry in entry_points(group=f"sfumato.{kind}")}
    return sorted(_own_names(kind) | foreign)


def usable(kind: str) -> tuple[list[str], list[UnreachableError]]:
    """Return the names of all components of a kind that can be loaded, and what is wrong with each of the others."""
    found, broken = [], []
    for name in names(kind):
        try:
            find(kind, name)
        except UnreachableError as error:
            broken.append(error)
        else:
            found.append(name)
    return found, broken


def class_name(name: str) -> str:
    """Return the name of the class that a file defines.

    >>> class_name("t_closeness")
    'TCloseness'
    """
    return "".join(part.capitalize() for part in name.split("_"))


def _loaded(kind: str, entry: EntryPoint) -> type[Any]:
    """Return the class behind an entry point; what another package raises when it is imported is not passed on."""
    from sfumato.core.settings import Settings

    try:
        loaded: type[Any] = entry.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a module may raise anything, or end the process as if all were done
        what = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
        raise _broken(kind, entry, f"{type(error).__name__}{f' of {what}' if what else ''}") from None
    if not (isinstance(loaded, type) and issubclass(loaded, Settings)):
        raise _broken(kind, entry, "it is no class of settings")
    lacking = [name for name in _NEEDED.get(kind, ()) if getattr(loaded, name, None) is None]
    if lacking:
        raise _broken(kind, entry, f"it has no {' and no '.join(lacking)}")
    return loaded


def _broken(kind: str, entry: EntryPoint, why: str) -> UnreachableError:
    from sfumato.core.makers import package_of, without_version

    package, among = package_of(entry), "masks" if kind == "masking" else kind
    return UnreachableError(
        f"{entry.name}, which the package {package} offers among the {among} as {entry.value}, cannot be used: {why}",
        code="component-broken",
        hint=f"install {without_version(package)} anew with all that it needs, or report it to its makers",
    )


@cache
def _own_names(kind: str) -> frozenset[str]:
    package = importlib.import_module(f"sfumato.{kind}")
    return frozenset(module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_"))
