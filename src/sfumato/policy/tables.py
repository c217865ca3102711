"""Tables: one policy for several tables of a database, each a policy of its own once what it leaves open is taken from the whole one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sfumato.core.mistakes import Place, key_text
from sfumato.core.yaml_text import yaml_text
from sfumato.errors import Mistake, PolicyError
from sfumato.policy.identity import identity_of
from sfumato.policy.lines import Lines
from sfumato.policy.load import Loaded
from sfumato.policy.model import Component, Policy, Table
from sfumato.policy.resolve import Resolved, resolve

_REPLACED = ("subject", "unnamed", "formats", "promises", "algorithm", "suppression_limit", "accept")
_NOT_BESIDE = ("columns", "views", "readers", "retention", "window", "stream")
_LONGEST = 200


def has_tables(loaded: Loaded) -> bool:
    """Return whether a policy speaks of several tables, well or badly."""
    return bool(loaded.policy.tables) or any(path[:1] == ("tables",) for path in loaded.lines.by_path)


def resolve_tables(loaded: Loaded, needs: Sequence[str] = ()) -> dict[str, Resolved]:
    """Find every component of every table and check them; all mistakes are raised together."""
    policy = loaded.policy
    mistakes = [*loaded.mistakes, *_of_the_whole(loaded, needs), *_between_tables(loaded)]
    tables, found, identity = {}, {}, identity_of(policy, loaded.path)
    if not any(mistake.key.startswith(("source", "sink")) for mistake in mistakes):
        for name, table in policy.tables.items() if "" not in policy.tables else ():
            try:
                # the tables of a policy have one name: pseudonyms without a domain are the same in all of them
                alone = resolve(of_table(loaded, name))
                tables[name] = replace(alone, own=_own(table), part="table", identity=identity, accepts=table.accept or ())
            except PolicyError as error:
                found[name] = error.mistakes
    mistakes += _told_once(policy, found)
    if mistakes:
        raise PolicyError(list(dict.fromkeys(mistakes)), name=loaded.name)
    return tables


def of_table(loaded: Loaded, name: str) -> Loaded:
    """Return the policy that one table is. Its keys stand where the table or, if it does not say them, the whole policy has them."""
    policy, table = loaded.policy, loaded.policy.tables[name]
    own: dict[str, Any] = {key: value for key in _REPLACED if (value := getattr(table, key)) is not None}
    if "accept" in own:
        own["accept"] = [known for known in own["accept"] if known != "broken_key"]
    called = table.table or name
    source = _with(policy.source, {"table": called, "schema": table.schema_})
    sink = _with(policy.sink, {"table": table.into or called})
    if sink is not None and sink.name == "sql_dump" and isinstance(sink.settings.get("path"), str):
        # all tables go into one file, and each has a record of its own
        sink = _with(sink, {"record": sink.settings.get("record") or records_of_dump(sink.settings["path"])})
    if sink is not None and sink.settings.get("record"):
        sink = _with(sink, {"record": record_file(sink.settings["record"], table.into or called)})
    whole = policy.model_copy(update={"columns": table.columns, "source": source, "sink": sink, "tables": {}} | own)
    lines = {place: line for path, line in loaded.lines.by_path.items() if (place := _in_table(path, name, table)) is not None}
    unknown = frozenset(place for path in loaded.unknown if (place := _in_table(path, name, table)) is not None)
    return replace(loaded, policy=whole, lines=Lines(lines), mistakes=(), unknown=unknown)


def records_of_dump(path: str) -> str:
    """Return the folder of the records of a dump of several tables, where nobody has named one."""
    return f"{path}.records"


def record_file(folder: str, table: str) -> str:
    """Return the file in a folder that the record of a table goes to, whatever the table is called.

    >>> record_file("records/", "visits"), record_file("records", "a/b")
    ('records/visits.record.json', 'records/a%2Fb.record.json')
    """
    called = quote(table, safe=" ")
    if len(called) > _LONGEST:
        # no file may have so long a name
        called = f"{called[: _LONGEST - 20]}-{hashlib.sha256(table.encode()).hexdigest()[:16]}"
    return f"{folder.rstrip('/')}/{called}.record.json"


def _with(component: Component | None, settings: Mapping[str, Any]) -> Component | None:
    """Return a component with further settings; those that are none stay as they are."""
    if component is None:
        return None
    told = {key: value for key, value in settings.items() if value is not None}
    return component.model_copy(update={"settings": component.settings | told})


def _in_table(path: Place, name: str, table: Table) -> Place | None:
    """Return where a key of the file stands in the policy of a table; None where it has no part in it."""
    if path[:2] == ("tables", name):
        return path[2:]
    if path[:1] in ((), ("tables",), ("columns",)) or any(path[:1] == (key,) and getattr(table, key) is not None for key in _REPLACED):
        return None
    return path


def _own(table: Table) -> tuple[str, ...]:
    """Return the keys that a table says itself."""
    return ("columns", *(key for key in _REPLACED if getattr(table, key) is not None))


def _told_once(policy: Policy, found: Mapping[str, Sequence[Mistake]]) -> Iterator[Mistake]:
    """Yield the mistakes of tables: of a key that the table has not, where all tables have the mistake, that of the whole policy."""
    for name, mistakes in found.items():
        own = _own(policy.tables[name])
        for mistake in mistakes:
            if any(mistake.key == key or mistake.key.startswith((f"{key}.", f"{key}[")) for key in own):
                yield replace(mistake, key=f"{key_text(('tables', name))}.{mistake.key}")
            elif len(found) == len(policy.tables) and all(mistake in others for others in found.values()):
                yield mistake
            else:
                yield replace(mistake, message=f"in the table {name}: {mistake.message}")


def _of_the_whole(loaded: Loaded, needs: Sequence[str]) -> Iterator[Mistake]:
    """Yield what is wrong with the keys that all tables share."""
    policy, lines = loaded.policy, loaded.lines
    for key in _NOT_BESIDE:
        if getattr(policy, key) or (key,) in lines.by_path:
            hint = "write them into the tables that they belong to" if key == "columns" else "one policy for each audience, or a policy of one table"
            yield Mistake(key, "stands beside tables", "policy-tables-beside", hint, lines.at((key,)))
    for key, component in (("source", policy.source), ("sink", policy.sink)):
        if component is None:
            if (key == "source" or key in needs) and (key,) not in loaded.unknown:
                words, hint = f"the policy names no {key}", f'{key}: {{sql: {{url: "postgresql://reader@host/hospital"}}}}'
                yield Mistake(key, words, "policy-no-source" if key == "source" else "policy-no-sink", hint, lines.at(("tables",)))
        elif component.name not in (("sql", "sql_dump") if key == "sink" else ("sql",)):
            hint = f'{key}: {{sql: {{url: "postgresql://reader@host/hospital"}}}}'
            yield Mistake(key, "is no database, and several tables are those of one", "policy-tables-database", hint, lines.at((key,)))
        elif component.instance is not None or {"table", "classes"} & set(component.settings):
            named = "classes" if "table" not in component.settings and "classes" in component.settings else "table"
            place = (key, component.name, named)
            hint = "leave table out: the entries of tables name them" if named == "table" else "leave classes out, or one policy for each table"
            yield Mistake(key_text(place), "names one table beside tables", "policy-tables-beside", hint, lines.at(place))
    yield from _no_folder(loaded)


def _no_folder(loaded: Loaded) -> Iterator[Mistake]:
    """Yield the mistake of records that have no folder to go to."""
    sink = loaded.policy.sink
    record = sink.settings.get("record") if sink is not None and sink.name in ("sql", "sql_dump") else None
    path = (loaded.folder or Path()) / record if isinstance(record, str) else None
    if path is not None and path.exists() and not path.is_dir():
        words = "is a file, and the record of each table goes into a file of its own in a folder"
        place = ("sink", sink.name if sink is not None else "sql", "record")
        yield Mistake(key_text(place), words, "policy-record-folder", "record: records/", loaded.lines.at(place))


def _between_tables(loaded: Loaded) -> Iterator[Mistake]:
    """Yield what is wrong between tables."""
    policy, lines = loaded.policy, loaded.lines
    if not policy.tables and not any(path[:1] == ("tables",) for path in loaded.unknown):
        yield Mistake("tables", "names no table", "policy-no-tables", "tables: {patients: {columns: {...}}}", lines.at(("tables",)))
    taken: dict[str, str] = {}
    read: dict[tuple[str | None, str], str] = {}
    for name, table in policy.tables.items():
        place: Place = ("tables", name)
        if not name:
            yield Mistake("tables", "a table needs a name", "policy-value", "tables: {patients: {columns: {...}}}", lines.at(place))
        called = table.table or name
        target, origin = table.into or called, (table.schema_, called)
        if origin in read:
            words = f"is the table that {read[origin]} is too"
            yield Mistake(key_text(place), words, "policy-tables-twice", "leave one of them out, or name another table or schema", lines.at(place))
        elif target in taken:
            words = f"would write over what {taken[target]} writes"
            hint = f"into: {yaml_text(f'{target}_2')}, or another name that no other table has"
            yield Mistake(key_text(place), words, "policy-tables-twice", hint, lines.at((*place, "into")))
        taken.setdefault(target, name)
        read.setdefault(origin, name)
