"""What masks may be asked for: by themselves, beside the role of their column, and beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sfumato.core.keys import looks_like_a_key
from sfumato.core.mask import Mask, Mixing, Naming, Operation, Together, Totals
from sfumato.core.masked_column import AS_PUBLISHED
from sfumato.core.mistakes import Place, key_text
from sfumato.core.yaml_text import yaml_text
from sfumato.errors import DataError, Mistake, UnreachableError, suggestion
from sfumato.key_material import NOT_SHOWN, could_be_a_key, named
from sfumato.policy.lines import Lines
from sfumato.policy.model import Column, Policy

if TYPE_CHECKING:
    from sfumato.core.masked_column import MaskedColumn

WHICH_FIT = "sfumato components --kind masking --table says which operations fit which types, some of them with some settings only"
_WITH_MASKS = ("when", "otherwise", "on_null", "on_invalid", "unique")


@dataclass(frozen=True)
class _Wrong:
    """What is wrong with one key of a column."""

    key: str
    message: str
    code: str
    hint: str | None


def mask_mistakes(policy: Policy, masks: Mapping[str, MaskedColumn | None], lines: Lines, unknown: frozenset[Place] = frozenset()) -> list[Mistake]:
    """Return what is wrong with the masks of a policy; one whose operations could not be found has been told already.

    So has what is wrong with the places of the policy that are ``unknown``: a key that is written wrongly is named.
    """
    misspelt = {place[1] for place in unknown if place[0] == "keys" and len(place) > 1}
    keys = {*policy.keys, *misspelt, *(key for mask in masks.values() if mask is not None and ("keys",) in unknown for key in mask.keys)}
    mistakes = []
    for name, column in policy.columns.items():
        for wrong in _of_column(policy, name, column, masks, keys):
            path = ("columns", name, wrong.key)
            mistakes.append(Mistake(key_text(path), wrong.message, code=wrong.code, hint=wrong.hint, line=lines.at(path)))
    return mistakes


def _of_column(policy: Policy, name: str, column: Column, masks: Mapping[str, MaskedColumn | None], keys: Set[Any]) -> Iterator[_Wrong]:
    mask = masks.get(name)
    if column.mask is None:
        for key in sorted(column.model_fields_set & set(_WITH_MASKS)):
            yield _Wrong(key, "says something only of a column with a mask", code="policy-role-key", hint="leave it out, or give the column a mask")
        return
    if column.otherwise is not None and column.when is None:
        yield _Wrong("otherwise", "says something only beside a condition", code="policy-role-key", hint="when: {column: ..., equals: ...}")
    if mask is None:
        return
    if column.role == "identifier" and mask.when is not None and not mask.otherwise:
        words = "an identifier of which some rows would be published as they are"
        yield _Wrong("when", words, code="policy-mask-identifier", hint="otherwise: constant, or otherwise: keep if that is meant")
    if any(step.component_name() == "drop" for step in mask.otherwise) or (
        mask.drops and (len(mask.steps) > 1 or mask.otherwise or mask.when is not None or column.role == "quasi_identifier")
    ):
        yield _Wrong(
            "mask", "drop removes the column, and nothing else can be asked of it", code="policy-mask-drop", hint="drop alone, or role: identifier"
        )
    unfit = mask.misfit_of_made() or _misfit_of_declared(policy, name, mask)
    if unfit is not None:
        yield _Wrong("mask", unfit[0], code="policy-mask-type", hint=unfit[1])
    yield from _unreadable(mask)
    yield from _unread(policy, name, mask)
    yield from _moved_apart(policy, name, mask, masks)
    for other in mask.reads:
        if other not in policy.columns:
            hint = suggestion(other, policy.columns)
            yield _Wrong("mask", f"reads the column {other}, which the policy does not name", code="policy-unknown-column", hint=hint)
    if column.role == "sensitive" and name + AS_PUBLISHED in policy.columns:
        yield _Wrong(
            "mask", f"what it makes would be called like the column {name}{AS_PUBLISHED}", code="policy-name-taken", hint="rename that column"
        )
    for key in mask.keys:
        if looks_like_a_key(key) or could_be_a_key(key):
            words = "what looks like a key stands where the name of one should"
            yield _Wrong("mask", words, code="policy-key-pasted", hint="put the key into a file that only you may read, and name it under keys")
        elif key not in keys:
            hint = suggestion(key, policy.keys) if policy.keys else f"keys: {{{key}: {{environment: SFUMATO_KEY}}}}"
            yield _Wrong("mask", f"needs the key {key}, which the policy does not name", code="policy-unknown-key-name", hint=hint)
    if mask.needs_ladder and column.role == "quasi_identifier":
        words = f"{mask.component_name()} shows a level of the hierarchy by which the column, a quasi_identifier, is generalised"
        yield _Wrong("mask", words, code="policy-role-key", hint=f"level: {{minimum: 1}} in columns.{name} in place of the mask")
    elif mask.needs_ladder and column.hierarchy is None:
        words = f"{mask.component_name()} shows a level of the column's hierarchy, which has none"
        yield _Wrong("mask", words, code="policy-hierarchy-missing", hint="hierarchy: {taxonomy: {path: ...}} beside the mask")
    if column.on_null == "generate" and not mask.steps[0].card.generates:
        words = f"{mask.steps[0].component_name()} makes nothing of a missing value"
        yield _Wrong("on_null", words, code="policy-mask-null", hint="on_null: keep, or an operation that makes values, such as constant or fake")
    if column.unique and mask.card.uniqueness == "lossy":
        yield _Wrong(
            "unique",
            f"{mask.component_name()} makes one value of several",
            code="policy-mask-unique",
            hint="encrypt, hash or tokenise the column, or leave it out",
        )
    if policy.promises:
        for other in (other for other in mask.reads if other in policy.columns and policy.columns[other].role == "quasi_identifier"):
            words = f"reads the quasi_identifier {other}: what it makes would tell more of it than is published"
            yield _Wrong("mask", words, code="policy-mask-promise", hint="another column, or none")
        yield from _telling(policy, name, mask, masks)
    yield from _promised(name, column, mask)


def _misfit_of_declared(policy: Policy, name: str, mask: MaskedColumn) -> tuple[str, str] | None:
    """Return why a mask does not fit the types that the policy itself declares, and what to try; of others only the source can tell."""
    declared = policy.columns[name].type
    wrong = None if declared is None else mask.misfit(pa.string(), declared)
    if wrong is not None:
        return wrong, mask.fitting(pa.string(), declared) or WHICH_FIT
    wrong = mask.window_misfit({other: column.type for other, column in policy.columns.items()})
    return None if wrong is None else (wrong, WHICH_FIT)


def _telling(policy: Policy, name: str, mask: MaskedColumn, masks: Mapping[str, MaskedColumn | None]) -> Iterator[_Wrong]:
    """Refuse what shows, beside a promise, something of a column that is not published as it is: which rows a condition held for is to be seen."""
    asked = mask.when.reads if mask.when is not None else ()
    computed = [other for step in (*mask.steps, *mask.otherwise) if step.component_name() == "expression" for other in step.reads]
    # a mean by a column says who had the same value of it, and how many have which is to be seen where its values are in another order
    computed += [other for step in (*mask.steps, *mask.otherwise) if _adds_up(step) for other in step.reads if _is_moved(masks.get(other))]
    for key, others in (("when", asked), ("mask", computed)):
        for other in dict.fromkeys(others):
            entry = policy.columns.get(other)
            if other == name or entry is None or entry.role == "quasi_identifier" or _is_shown(entry, masks.get(other)):
                continue
            words = f"what is published would depend on {other}, which is {'masked' if entry.mask else 'removed'}: who knows it finds the row"
            yield _Wrong(key, words, code="policy-mask-promise", hint="a column that is published as it is, or no promises")


def _adds_up(step: Mask) -> bool:
    """Return whether an operation shows one value for a group of rows."""
    return isinstance(step, Totals) and not step.card.perturbs


def _is_moved(mask: MaskedColumn | None) -> bool:
    """Return whether rows exchange the values of a column."""
    return mask is not None and any(isinstance(step, Mixing) and step.card.perturbs for step in (*mask.steps, *mask.otherwise))


def _is_shown(column: Column, mask: MaskedColumn | None) -> bool:
    """Return whether a column is published as it is."""
    if column.mask is None:
        return column.role != "identifier"
    return mask is not None and all(step.component_name() == "keep" for step in (*mask.steps, *mask.otherwise))


def _unread(policy: Policy, name: str, mask: MaskedColumn) -> Iterator[_Wrong]:
    """What an expression names it must be given: it would stop at the first row."""
    for key, steps in (("mask", mask.steps), ("otherwise", mask.otherwise)):
        for step in steps:
            for other in step.unread(name) if isinstance(step, Naming) else ():
                words = f"{step.component_name()} names the column {other}, which is neither {name} nor among its columns"
                known = other in policy.columns
                hint = f"columns: [{yaml_text(other)}] beside it" if known else suggestion(other, list(policy.columns))
                yield _Wrong(key, words, code="policy-unknown-column", hint=hint)


def _moved_apart(policy: Policy, name: str, mask: MaskedColumn, masks: Mapping[str, MaskedColumn | None]) -> Iterator[_Wrong]:
    """Yield why a column cannot move together with those that it names: all must move in one way, and nothing else may happen to them."""
    moved = mask.together
    if moved is None:
        return
    first, shown = mask.steps[0], named(moved, NOT_SHOWN)
    if len(mask.steps) > 1 or not isinstance(first, Together) or len([step for step in mask.operations if _moves_with(step, moved)]) > 1:
        words = f"moves the column together with others ({shown}), and is not its only operation"
        yield _Wrong("mask", f"{first.component_name()} {words}", code="policy-mask-together", hint="leave the other operations out")
        return
    others = {
        other: found
        for other, found in masks.items()
        if other != name and found is not None and any(_moves_with(step, moved) for step in found.operations)
    }
    if not others:
        words = f"moves the column together with others ({shown}), and there are none"
        yield _Wrong(
            "mask",
            f"{first.component_name()} {words}",
            code="policy-mask-together",
            hint=f"together: {yaml_text(named(moved, 'places'))} at the others too, or leave it out",
        )
    apart = [other for other, found in others.items() if found.steps[0] != first or found.when != mask.when]
    if apart:
        words = f"moves the column together with {', '.join(apart)}, by other settings or under another condition"
        yield _Wrong(
            "mask", f"{first.component_name()} {words}", code="policy-mask-together", hint="the same settings and the same when at all of them"
        )
    # what moves as one is still what one person has: beside a name it says whose disease it is, whatever the classes promise
    telling = [other for other in others if policy.columns[other].role != "sensitive"] if policy.columns[name].role == "sensitive" else []
    if telling:
        words = f"moves a sensitive column together with {', '.join(telling)}, which would tell whose value it is"
        hint = "role: sensitive at all of them if nobody can be known by them, or a shuffle of its own"
        yield _Wrong("mask", f"{first.component_name()} {words}", code="policy-mask-together", hint=hint)
    differing = [
        other for other, found in others.items() if other not in apart and (found.on_null, found.on_invalid) != (mask.on_null, mask.on_invalid)
    ]
    if differing:
        words = f"moves the column together with {', '.join(differing)}, where something else becomes of a missing value or of a row that is alone"
        hint = "the same on_null and on_invalid at all of them"
        yield _Wrong("mask", f"{first.component_name()} {words}", code="policy-mask-together", hint=hint)
    if policy.columns[name].on_null == "keep":
        yield _Wrong(
            "on_null", "a missing value moves with the others of its row", code="policy-mask-together", hint="leave on_null out, or on_null: error"
        )


def _moves_with(step: Mask, moved: str) -> bool:
    return isinstance(step, Together) and step.together == moved


def _unreadable(mask: MaskedColumn) -> Iterator[_Wrong]:
    """The files that operations name are the policy's, like those of hierarchies."""
    for key, steps in (("mask", mask.steps), ("otherwise", mask.otherwise)):
        for step in steps:
            try:
                if isinstance(step, Operation):
                    step.read_files()
            except (DataError, UnreachableError) as error:
                yield _Wrong(key, error.message, code=error.code, hint=error.hint)


def _promised(name: str, column: Column, mask: MaskedColumn) -> Iterator[_Wrong]:
    """A mask on a quasi-identifier must be a function of its value: what differs by chance or by other rows cannot make people alike."""
    if column.role != "quasi_identifier":
        return
    if mask.card.scope != "value":
        words = f"{mask.component_name()} looks at other values than the row's own {name}, and the column is a quasi_identifier"
    elif not mask.card.deterministic:
        words = f"{mask.component_name()} gives one value different results, and the column is a quasi_identifier"
    else:
        return
    hint = "an operation that is a function of the value (generalise, round, shorten, hash), or role identifier"
    yield _Wrong("mask", words, code="policy-mask-promise", hint=hint)
