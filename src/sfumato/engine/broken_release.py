"""What is said of a release that is not as it must be."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sfumato.core.makers import is_foreign, maker_of, without_version
from sfumato.core.mask import Mask
from sfumato.core.masked_column import MaskedColumn
from sfumato.errors import PromiseError, first_few

_SAID = re.compile(r"verification stopped the run: the staged release (?P<what>.*); nothing has been published", re.DOTALL)
_HINT = "run again; if it happens twice, report it: this must not happen"


def broken(what: str, code: str, who: str = "the staged release", hint: str = _HINT) -> PromiseError:
    """Return the error of a release that is not as it must be."""
    return PromiseError(
        f"verification stopped the run: {who} {what}; nothing has been published",
        code=code,
        hint=hint,
    )


def broken_by_mask(where: str, masks: Iterable[Mask]) -> PromiseError:
    """Return the error of a release in which a mask, done again, makes something else; those of other packages are named, for they may be why."""
    found = broken(f"holds {where}a masked value that is not what its mask makes of its original", code="verify-mask")
    steps = [step for mask in masks for step in (mask.operations if isinstance(mask, MaskedColumn) else [mask])]
    told = {step.component_name(): maker_of(step) for step in steps if is_foreign(step)}
    if not told:
        return found
    named = first_few([f"{name} of the package {maker}" for name, maker in told.items()])
    makers = first_few(list(dict.fromkeys(map(without_version, told.values()))))
    return PromiseError(
        found.message,
        code="verify-mask",
        hint=f"do without {named}, if what it makes of a value is not the same every time as its card says, and report it to the makers of {makers}",
    )


def as_said_of_stream(error: PromiseError, view: str) -> PromiseError:
    """Return the error as it is true of a stream, of which something may have been released before; any other as it is.

    >>> as_said_of_stream(broken("has lost or gained rows", "verify-rows"), "nurse").message
    'verification stopped the stream: a release of view nurse has lost or gained rows; it was not handed out, and what was released before stays'
    """
    said = _SAID.fullmatch(error.message)
    if said is None:
        return error
    whose = f" of view {view}" if view else ""
    message = f"verification stopped the stream: a release{whose} {said['what']}; it was not handed out, and what was released before stays"
    return PromiseError(message, code=error.code, hint=error.hint)
