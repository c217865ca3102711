"""The columns of a source, held against those of the policy."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace

import pyarrow as pa

from sfumato.core.interfaces import Source
from sfumato.core.yaml_text import yaml_text
from sfumato.errors import DataError, first_few, nearest, number_of
from sfumato.policy.model import Column
from sfumato.policy.resolve import Resolved

# the comma last: it also stands within names
_DELIMITERS = ";\t|,"
_HINTS = {
    "delimited": "if its first line is no header, say source: {delimited: {path: ..., header: false}}",
    "excel": "perhaps it is another sheet: source: {excel: {path: ..., sheet: ...}}",
    "standard_input": "look at the first line: source: {standard_input: {delimiter: ';'}}, header: false without one, format: json_lines for JSON",
}


def _nameless(present: Collection[str]) -> str | None:
    """Return what to do where a source without a header has its columns numbered."""
    if list(present) != [f"column_{place}" for place in range(1, len(present) + 1)]:
        return None
    return f"without a header they are called column_1 to column_{len(present)}; say columns: [...] beside header: false to name them"


def remove_unnamed(resolved: Resolved, schema: pa.Schema) -> tuple[Resolved, list[str]]:
    """Return the policy with the columns that it does not name as identifiers, where it says that they are removed, and their names."""
    policy = resolved.policy
    unnamed = [name for name in schema.names if name not in policy.columns] if policy.unnamed == "remove" else []
    columns = {**policy.columns, **{name: Column(role="identifier") for name in unnamed}}
    return replace(resolved, policy=policy.model_copy(update={"columns": columns})), unnamed


def compare_columns(resolved: Resolved, source: Source, schema: pa.Schema) -> None:
    """Refuse a source unless every column of it is named, and every named column is there."""
    named, present = list(resolved.policy.columns), list(schema.names)
    unnamed = [name for name in present if name not in resolved.policy.columns]
    there = set(present)
    absent = [name for name in named if name not in there]
    if not unnamed and not absent:
        return
    _refuse_another_delimiter(source, present, named)
    scan, otherwise_written = source.scan(), _otherwise_written(absent, unnamed)
    if len(absent) == len(named) and not otherwise_written:
        # perhaps there is no header, and what looks like names are cells
        raise DataError(
            f"the source has {number_of(len(present), 'column')}, none of which is among the {len(named)} of the policy",
            code="columns-differ",
            hint=_nameless(present) or _HINTS.get(scan.format if scan is not None else "", "look at the names of its columns"),
        )
    parts, hints = [], []
    if len(absent) == len(named):
        # names that the policy has too, but for capitals, are no cells; the others may be
        unnamed = list(otherwise_written.values())
    if unnamed:
        parts.append(f"the source has columns that the policy does not name: {first_few(unnamed)}")
    if set(unnamed) - set(otherwise_written.values()):
        hints.append("name each of them with a role; role identifier removes it")
    if absent:
        parts.append(f"the policy names columns that the source does not have: {', '.join(absent)}")
        hints += _meant(absent, unnamed or present, otherwise_written)
    raise DataError("; ".join(parts), code="columns-differ", hint="; ".join(hints))


def refuse_absent(absent: Collection[str], others: Collection[str], records: int) -> None:
    """Refuse columns that the first records of a stream do not name, ``others`` being fields that they have and the policy does not."""
    meant = _meant(absent, others, _otherwise_written(absent, others))
    rare = f"source: {{json_lines: {{path: ..., fields: {{{yaml_text(next(iter(absent)))}: text}}}}}}, if it is rare"
    raise DataError(
        f"the policy names columns that none of the first {number_of(records, 'record')} has: {', '.join(absent)}",
        code="columns-differ",
        hint="; ".join([*meant, rare]),
    )


def _otherwise_written(absent: Collection[str], unnamed: Collection[str]) -> dict[str, str]:
    """Return for names of the policy those of the source that differ from them only in capitals, or in spaces around them."""
    plain = {name.strip().casefold(): name for name in unnamed}
    return {name: plain[name.strip().casefold()] for name in absent if name.strip().casefold() in plain}


def _meant(absent: Collection[str], known: Collection[str], otherwise_written: Mapping[str, str]) -> list[str]:
    meant_by = {name: otherwise_written.get(name) or nearest(name, known) for name in absent}
    near = [f"{yaml_text(meant)} in place of {yaml_text(name)}" for name, meant in meant_by.items() if meant is not None]
    return near[:5] or ["leave them out of the policy, or call them as the source does"]


def _refuse_another_delimiter(source: Source, present: Collection[str], named: Collection[str]) -> None:
    """Refuse a delimited file that seems to have one column because its delimiter is another."""
    scan = source.scan()
    if scan is None or scan.format != "delimited" or len(present) != 1:
        return
    (only,) = present
    asked = scan.options["delimiter"]
    found = {mark: len(set(only.split(mark)) & set(named)) for mark in _DELIMITERS if mark in only and mark != asked}
    if found:
        other = json.dumps(max(found, key=lambda mark: found[mark]))
        raise DataError(
            f"the source has one column with the delimiter {json.dumps(asked)}, but {other} stands in its first line",
            code="columns-differ",
            hint=f"source: {{delimited: {{path: ..., delimiter: {other}}}}}",
        )
