"""Reveal: undo the mask of a column, for those who have its key or its vault. Every time is written into the audit, with what it was for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from sfumato.core import audit
from sfumato.core.canonical import as_text
from sfumato.core.interfaces import NestingSink, Sink, Source
from sfumato.core.keys import Keys, looks_like_a_key
from sfumato.core.mask import MaskContext, Operation
from sfumato.core.masked_column import MaskedColumn
from sfumato.core.nested_types import nested_type
from sfumato.core.nested_values import as_nested
from sfumato.core.undoing import keys_to_undo, not_undone, silent_operations, undo, undone_operations
from sfumato.core.workplace import Workplace
from sfumato.engine.plan import AnyPolicy, named_view
from sfumato.engine.released_file import new_file, released_file
from sfumato.errors import DataError, SfumatoError, UsageError, number_of, suggestion
from sfumato.key_material import named as shown_as
from sfumato.policy.identity import own_domain, policy_hash
from sfumato.policy.load import load
from sfumato.policy.resolve import Resolved
from sfumato.policy.views import resolve_views


@dataclass(frozen=True)
class Revealed:
    """How many values were revealed, under which keys they had been made, and whether the values themselves say that these were the right ones.

    ``left`` is the number of values that stay as they are: no mask has made them, because a condition left them alone or gave them to another.
    """

    rows: int
    left: int
    key_ids: tuple[str, ...]
    certain: bool


@dataclass(frozen=True)
class Request:
    """What somebody wants to be revealed, and what for.

    ``key_ids`` are the keys to use where the values do not say which: the id of each, with the name of the key and = before it where names share ids.
    """

    column: str
    purpose: str
    view: str | None = None
    key_ids: Sequence[str] = ()


def reveal(policy: AnyPolicy, request: Request, input: Path, output: Path) -> Revealed:
    """Write the rows of a file to another, private, with the values of one column as they were before the policy masked them."""
    about = {"column": request.column, "purpose": request.purpose, "input": str(input), "output": str(output)}
    event = {"policy": "", "view": request.view or "", **about}
    try:
        return _revealed(policy, request, (input, output), event)
    except SfumatoError as error:
        # an attempt that failed is to be seen too
        audit.append(**event, rows=0, keys=[], outcome=error.code)
        raise
    except BaseException:
        audit.append(**event, rows=0, keys=[], outcome="interrupted")
        raise


def _revealed(policy: AnyPolicy, request: Request, files: tuple[Path, Path], event: dict[str, str]) -> Revealed:
    """Reveal a column; what is known of it is put into the event as soon as it is known."""
    _refuse_other_than_text(request, *files)
    if not request.purpose.strip():
        raise UsageError("nothing says what the values are for", code="reveal-purpose", hint="--purpose 'recall of a device, case 17'")
    loaded = load(policy)
    event["policy"] = policy_hash(loaded.policy)
    found = resolve_views(loaded)
    name = named_view(found, request.view)
    resolved, view = found.views[name], name or "default"
    event |= {"policy": policy_hash(resolved.policy), "view": view}
    source, sink = _opened(*files, resolved.sink)
    with _private_files(), Workplace() as workplace:
        # all tables of a policy have one domain
        return _Revealing(resolved, "default" if found.are_tables else view, request).written(source, sink, event, workplace)


def _refuse_other_than_text(request: Request, input: Path, output: Path) -> None:
    """Refuse arguments with bytes that are no UTF-8: nobody could read them in the audit, or print them."""
    given = {"purpose": request.purpose, "column": request.column, "view": request.view or "", "input": str(input), "output": str(output)}
    for name, text in given.items():
        if any("\ud800" <= sign <= "\udfff" for sign in text):
            hint = "rename the file" if name in ("input", "output") else "write it in UTF-8"
            raise UsageError(f"--{name} holds bytes that are no UTF-8 text", code="argument-encoding", hint=hint)


def _opened(input: Path, output: Path, released: Sink | None) -> tuple[Source, Sink]:
    if str(output) == "-":
        raise UsageError("what is revealed goes into a file that only you may read", code="reveal-output", hint="--output names.csv")
    if output.exists():
        raise UsageError(f"{output} is there already", code="output-exists", hint="name another file")
    return released_file(input, released), new_file(output, released)


class _Revealing:
    """One column being revealed."""

    def __init__(self, resolved: Resolved, view: str, request: Request) -> None:
        self._column = request.column
        self._named = frozenset(resolved.policy.columns)
        self._mask = _reversible(resolved, request.column)
        self._operations = undone_operations(self._mask)
        keys = resolved.keys(keys_to_undo(self._mask))
        _refuse_irreversible(request.column, not_undone(self._mask, keys))
        chosen = _chosen(request, keys)
        _refuse_several_keys(silent_operations(self._mask), keys, chosen, request.column)
        kind = resolved.policy.columns[request.column].type
        self._context = MaskContext(request.column, own_domain(resolved.identity, view), keys.preferring(chosen), kind)

    def written(self, source: Source, sink: Sink, event: dict[str, str], workplace: Workplace) -> Revealed:
        """Write all rows, then the audit, then show the file. Before the first row the audit says that it begins: a process may be killed."""
        schema = source.describe()
        if self._column not in schema.names:
            raise _column_unknown(self._column, [name for name in schema.names if name in self._named])
        place = schema.get_field_index(self._column)
        audit.append(**event, rows=0, keys=[], outcome="begun")
        nested = _nested_beside(schema, self._column, sink)
        fields = [field.with_type(nested.get(field.name, field.type)).remove_metadata() for field in schema]
        writer = sink.open(pa.schema(fields).set(place, pa.field(self._column, pa.string())))
        try:
            workplace.note(list(writer.staging))
            rows, left, wrong = 0, 0, 0
            for batch in source.batches(schema.names):
                values = as_text(batch.column(place))
                found = undo(self._mask, values, self._context)
                wrong += found.values.null_count - values.null_count
                left += found.left
                rows += len(values) - found.values.null_count - found.left
                if not wrong:
                    columns = dict(zip(schema.names, batch.columns, strict=True)) | {self._column: found.values}
                    columns |= {name: as_nested(columns[name], kind, name) for name, kind in nested.items()}
                    writer.write(pa.RecordBatch.from_pydict(columns))
            if wrong:
                raise self._no_ciphertexts(wrong)
            writer.finish()
            key_ids = sorted(self._context.opened_by)
            audit.append(**event, rows=rows, keys=key_ids, outcome="revealed")
            writer.publish()
        except BaseException:
            writer.abort()
            raise
        return Revealed(rows, left, tuple(key_ids), all(step.tells_key for step in self._operations))

    def _no_ciphertexts(self, wrong: int) -> DataError:
        name = self._mask.component_name()
        return DataError(
            f"column {self._column}: {number_of(wrong, 'row')} with what {name} has not made, or not for this policy and view; nothing was written",
            code="reveal-invalid",
            hint="the file, the column, the view and the domain as they were when it was masked",
        )


def _nested_beside(schema: pa.Schema, column: str, sink: Sink) -> dict[str, pa.DataType]:
    """Return the types of lists and structures beside the column that is revealed, where the file that is written has such types."""
    if not isinstance(sink, NestingSink):
        return {}
    found = {field.name: nested_type(field) for field in schema if field.name != column and sink.nests(field.name)}
    return {name: kind for name, kind in found.items() if kind is not None}


def _column_unknown(column: str, known: Sequence[str]) -> UsageError:
    """Return the error for a file without the column; it tells none but names of the policy: what stands in the first line may be cells."""
    hint = suggestion(column, known) if known else "the file that the policy's sink has written, or one whose first line names its columns"
    return UsageError(f"the input has no column {column}", code="column-unknown", hint=hint)


def _reversible(resolved: Resolved, column: str) -> MaskedColumn:
    """Return the mask of a column; refuse one that cannot be undone."""
    mask = resolved.masks.get(column)
    if mask is None:
        known = [name for name, other in resolved.masks.items() if other.changes and not_undone(other) is None]
        hint = suggestion(column, known) if known else "the policy masks no column in a way that can be undone"
        raise UsageError(f"the policy does not mask the column {column}", code="reveal-column", hint=hint)
    _refuse_irreversible(column, not_undone(mask))
    return mask


def _refuse_irreversible(column: str, words: str | None) -> None:
    if words is not None:
        raise UsageError(
            f"column {column}: {words}",
            code="reveal-irreversible",
            hint="encrypt, deterministic_encrypt, format_preserving_encrypt and tokenise can be undone",
        )


def _chosen(request: Request, keys: Keys) -> dict[str, str]:
    """Return the id of the key that is asked for, by the names of keys; an id without a name is meant of all names that have it."""
    if any(looks_like_a_key(one) for one in request.key_ids):
        words = "what looks like a key is given where the id of one should be"
        raise UsageError(f"column {request.column}: {words}", code="key-id", hint="--key-id with what stands before the colon")
    asked = [one.rpartition("=") for one in request.key_ids]
    named = [(name, key_id) for name, _, key_id in asked if name]
    for name, key_id in named:
        if name not in keys.known:
            raise UsageError(
                f"column {request.column}: its mask needs no key {shown_as(name, 'of that name')}", code="key-id", hint=suggestion(name, keys.known)
            )
        known = [key.id for key in keys.every(name)]
        if key_id not in known:
            words = f"key {name}: there is none with the id {shown_as(key_id, 'that is asked for')}, only {', '.join(known)}"
            raise UsageError(words, code="key-id", hint=suggestion(key_id, known))
    bare = [(name, key_id) for before, _, key_id in asked if not before for name in _names_with(key_id, request.column, keys)]
    for pairs in (bare, named):
        if len(dict(pairs)) < len(set(pairs)):
            raise UsageError(f"column {request.column}: two ids are given for one key", code="key-id", hint="--key-id once for each name of a key")
    return {**dict(bare), **dict(named)}


def _names_with(key_id: str, column: str, keys: Keys) -> list[str]:
    found = [name for name, known in keys.known.items() if any(key.id == key_id for key in known)]
    if not found:
        known = [key.id for several in keys.known.values() for key in several]
        hint = suggestion(key_id, known) if known else "leave it out: the mask of the column has no key"
        raise UsageError(f"column {column}: no key of its mask has the id {shown_as(key_id, 'that is given')}", code="key-id", hint=hint)
    return found


def _refuse_several_keys(silent: Sequence[tuple[Operation, str]], keys: Keys, chosen: Mapping[str, str], column: str) -> None:
    """Refuse to guess under which of several keys values were made that do not say it: a wrong one would make other values of them, unnoticed."""
    for step, name in silent:
        if name not in chosen and len(keys.every(name)) > 1:
            known = [key.id for key in keys.every(name)]
            named = f"{name}=" if len(keys.known) > 1 else ""
            raise UsageError(
                f"column {column}: {step.component_name()} does not say under which key values were made, and {name} has several: {', '.join(known)}",
                code="key-id",
                hint=f"--key-id {named}{known[-1]}, or {', '.join(known[-2::-1])}: the one that was current when they were made",
            )


@contextmanager
def _private_files() -> Iterator[None]:
    """Let only their owner read the files that are made."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
