"""Reveal: undo the mask of a column, for those who have its key or its vault. Every time is written into the audit, with what it was for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from sfumato.core import audit, envelope
from sfumato.core.canonical import as_text
from sfumato.core.interfaces import Sink, Source
from sfumato.core.keys import Keys
from sfumato.core.mask import MaskContext, Operation, Reversible
from sfumato.core.masked_column import MaskedColumn
from sfumato.engine.plan import AnyPolicy, named_view
from sfumato.errors import DataError, SfumatoError, UsageError, number_of, suggestion
from sfumato.policy.identity import own_domain, policy_hash
from sfumato.policy.load import load
from sfumato.policy.resolve import Resolved
from sfumato.policy.views import resolve_views


@dataclass(frozen=True)
class Revealed:
    """How many values were revealed, under which keys they had been made, and whether the values themselves say that these were the right ones."""

    rows: int
    key_ids: tuple[str, ...]
    certain: bool


@dataclass(frozen=True)
class Request:
    """What somebody wants to be revealed, and what for; ``key_id`` is the key to use where the values do not say which."""

    column: str
    purpose: str
    view: str | None = None
    key_id: str | None = None


def reveal(policy: AnyPolicy, request: Request, source: Source, sink: Sink) -> Revealed:
    """Write the rows of a source to a sink, private, with the values of one column as they were before the policy masked them."""
    if not request.purpose.strip():
        raise UsageError("nothing says what the values are for", code="reveal-purpose", hint="--purpose 'recall of a device, case 17'")
    resolved, view = _resolved(policy, request.view)
    event = {"policy": policy_hash(resolved.policy), "view": view, "column": request.column, "purpose": request.purpose}
    try:
        work = _Revealing(resolved, view, request)
        with _private_files():
            return work.written(source, sink, event)
    except SfumatoError as error:
        # an attempt that failed is to be seen too
        audit.append(**event, rows=0, keys=[], outcome=error.code)
        raise


class _Revealing:
    """One column being revealed."""

    def __init__(self, resolved: Resolved, view: str, request: Request) -> None:
        self._column = request.column
        self._mask = _reversible(resolved, request.column)
        keys = resolved.keys(self._mask.keys)
        if request.key_id is not None:
            keys = keys.preferring(request.key_id)
        else:
            _refuse_several_keys(self._mask, keys, request.column)
        self._context = MaskContext(request.column, own_domain(resolved.identity, view), keys, resolved.policy.columns[request.column].type)

    def written(self, source: Source, sink: Sink, event: dict[str, str]) -> Revealed:
        """Write all rows, then the audit, then show the file."""
        schema = source.describe()
        if self._column not in schema.names:
            raise UsageError(f"the input has no column {self._column}", code="column-unknown", hint=suggestion(self._column, schema.names))
        place = schema.get_field_index(self._column)
        writer = sink.open(schema.set(place, pa.field(self._column, pa.string())))
        try:
            rows, wrong, key_ids = 0, 0, set()
            for batch in source.batches(schema.names):
                values = as_text(batch.column(place))
                key_ids |= self._key_ids(values)
                found = self._revealed(values)
                wrong += found.null_count - values.null_count
                rows += len(found) - found.null_count
                if not wrong:
                    writer.write(batch.set_column(place, self._column, found))
            if wrong:
                raise self._no_ciphertexts(wrong)
            writer.finish()
            audit.append(**event, rows=rows, keys=sorted(key_ids), outcome="revealed")
            writer.publish()
        except BaseException:
            writer.abort()
            raise
        certain = all(not isinstance(step, Operation) or step.tells_key for step in self._mask.steps)
        return Revealed(rows, tuple(sorted(key_ids)), certain)

    def _revealed(self, values: pa.Array) -> pa.Array:
        for step in reversed(self._mask.steps):
            values = step.reveal(values, self._context) if isinstance(step, Reversible) else values
        return values

    def _key_ids(self, values: pa.Array) -> set[str]:
        """Return the keys that values name; where they name none, those that were used."""
        named = set(envelope.key_ids(values))
        return named or {self._context.keys.current(name).id for name in self._mask.keys}

    def _no_ciphertexts(self, wrong: int) -> DataError:
        name = self._mask.component_name()
        return DataError(
            f"column {self._column}: {number_of(wrong, 'row')} with what {name} has not made, or not for this policy and view; nothing was written",
            code="reveal-invalid",
            hint="the file, the column, the view and the domain as they were when it was masked",
        )


def _resolved(policy: AnyPolicy, view: str | None) -> tuple[Resolved, str]:
    """Return the policy of a view, and the name under which its masks know it."""
    found = resolve_views(load(policy))
    name = named_view(found, view)
    return found.views[name], name or "default"


def _reversible(resolved: Resolved, column: str) -> MaskedColumn:
    """Return the mask of a column; refuse one that cannot be undone."""
    mask = resolved.masks.get(column)
    if mask is None:
        hint = suggestion(column, resolved.masks) if resolved.masks else "the policy masks no column"
        raise UsageError(f"the policy does not mask the column {column}", code="reveal-column", hint=hint)
    if mask.when is not None:
        words = "masks only some rows, and no row says which"
    elif not all(isinstance(step, Reversible) for step in mask.steps):
        lost = next(step.component_name() for step in mask.steps if not isinstance(step, Reversible))
        words = f"{lost} cannot be undone"
    else:
        return mask
    raise UsageError(
        f"column {column}: {words}",
        code="reveal-irreversible",
        hint="encrypt, deterministic_encrypt, format_preserving_encrypt and tokenise can be undone",
    )


def _refuse_several_keys(mask: MaskedColumn, keys: Keys, column: str) -> None:
    """Refuse to guess under which of several keys values were made that do not say it: a wrong one would make other values of them, unnoticed."""
    for step in mask.steps:
        several = [name for name in step.keys if len(keys.every(name)) > 1]
        if isinstance(step, Operation) and not step.tells_key and several:
            ids = ", ".join(key.id for key in keys.every(several[0]))
            raise UsageError(
                f"column {column}: {step.component_name()} does not say under which key values were made, and {several[0]} has several: {ids}",
                code="key-id",
                hint=f"--key-id {keys.current(several[0]).id}, or the one that was current when they were made",
            )


@contextmanager
def _private_files() -> Iterator[None]:
    """Let only their owner read the files that are made."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
