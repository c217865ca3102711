"""Slips that many make in a policy, and the line that was probably meant, ready to be pasted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, get_args

from sfumato.core.files import to_utf8
from sfumato.core.formats import FORMATS, format_of, is_read_alone
from sfumato.core.mistakes import HintOf, Place
from sfumato.core.yaml_text import yaml_text
from sfumato.errors import nearest
from sfumato.key_material import named
from sfumato.policy.model import Component, Role
from sfumato.registry import find, names

_KINDS = {
    "source": "sources",
    "sink": "sinks",
    "algorithm": "algorithms",
    "hierarchy": "hierarchies",
    "mask": "masking",
    "promises": "promises",
}
_ENCODING = re.compile(r"[A-Za-z0-9_.:-]+")
_ARCHIVES = (".zip", ".7z", ".rar", ".tar", ".tgz")
_OF_PROGRAMS = (".ods", ".xls", ".xlsb", ".numbers", ".sav", ".dta", ".sas7bdat", ".mdb", ".accdb", ".db", ".sqlite", ".orc", ".avro")
_PER_CENT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?%")


def meant(path: Place, given: Any) -> str | None:
    """Return what to write in place of a value that a policy may not have at this key; None where that cannot be told.

    >>> meant(("columns", "sex"), "quasi_identifier")
    'sex: {role: quasi_identifier}'
    >>> meant(("promises", 0), {"k_anonymity": 3})
    'k_anonymity: {k: 3}'
    >>> meant(("suppression_limit",), "5%")
    'suppression_limit: 0.05'
    """
    if path[-2:-1] == ("columns",):
        return _column(str(path[-1]), given)
    if path[:1] == ("keys",) and len(path) == 2:
        # what stands there may be the key itself
        return f"{_key(str(path[1]))}: a policy says where a key is read from, and never holds it"
    key = next((step for step in reversed(path) if isinstance(step, str)), "")
    if key == "level":
        return f"level: {{minimum: {given}}}" if type(given) is int else None
    if path == ("seed",):
        return f"seed: {{for_tests: {given}}}, where the release is for tests and may protect nobody" if type(given) is int else None
    if key == "suppression_limit":
        return _limit(given)
    if path[-1:] == ("promises",):
        return _promises(given)
    if key in ("source", "sink") and given == [None]:
        # without quotes a dash begins a list
        return f'{key}: "-"'
    if key in ("source", "sink") and isinstance(given, str):
        return _file(key, given)
    return _component(key, given) if key in _KINDS and isinstance(given, Mapping) else None


def meant_by(component: Component, path: Place) -> HintOf:
    """Return what says it of the settings of a component, which stand at a path."""

    def hint(where: Place, given: Any) -> str | None:
        if where[-1:] == ("encoding",) and component.name == "table":
            return _encoding(component, given)
        return _lead(component.settings) if component.name == "l_diversity" and where == path else None

    return hint


def _key(name: str) -> str:
    name = named(name, "ward")
    return f"keys: {{{yaml_text(name)}: {{file: {yaml_text(f'{name}.key')}}}}}, or {{environment: SFUMATO_KEY}}"


def _column(name: str, given: Any) -> str:
    roles = get_args(Role)
    role = nearest(given, roles) if isinstance(given, str) else None
    if role is None:
        return f"{yaml_text(name)}: {{role: ...}}, with one of {', '.join(roles)}"
    return f"{yaml_text(name)}: {{role: {role}}}"


def _limit(given: Any) -> str | None:
    per_cent = _PER_CENT.fullmatch(given) if isinstance(given, str) else None
    number = float(per_cent[1]) if per_cent else given
    if isinstance(number, bool | str) or not isinstance(number, int | float) or not (per_cent or 1 < number <= 100):
        return None
    return f"suppression_limit: {number / 100:g}"


def _promises(given: Any) -> str:
    if isinstance(given, Mapping) and given and all(isinstance(settings, Mapping) for settings in given.values()):
        return f"promises: {yaml_text([{name: settings} for name, settings in given.items()])}"
    return "promises: [{k_anonymity: {k: 5}}]"


def _file(key: str, given: str) -> str:
    if key == "source" and not PurePath(given).suffix:
        return f"source: {yaml_text(given + '/')} where it is a folder, else source: {{delimited: {{path: {yaml_text(given)}}}}}"
    if given.endswith("/"):
        return f"{key}: {yaml_text(given + 'release.csv')}"
    if PurePath(given).suffix.lower() in (".gz", ".bz2", ".xz", ".zst"):
        return f"{key}: {{delimited: {{path: {yaml_text(given)}}}}}, or a name that says the format too, as in data.csv.gz"
    plain = given.removesuffix(PurePath(given).suffix)
    if PurePath(given).suffix.lower() in _ARCHIVES:
        plain = plain if PurePath(plain).suffix.lower() in FORMATS else f"{plain}.csv"
        named = f"{key}: {yaml_text(plain)}"
        return f"unpack it first, then {named}" if key == "source" else f"{named}, or {yaml_text(plain + '.gz')} to compress it"
    if key == "source" and PurePath(given).suffix.lower() not in _OF_PROGRAMS:
        return _text_file(given, plain)
    if is_read_alone(given):
        return f"{key}: {yaml_text(plain + '.arrow')}"
    named = f"{key}: {yaml_text(plain if PurePath(plain).suffix.lower() in FORMATS else plain + '.csv')}"
    return f"write it as CSV in UTF-8 first, then {named}" if key == "source" else named


def _text_file(given: str, plain: str) -> str:
    """Return how a file is named whose ending says nothing, such as that of a log; what stands before the ending may say it."""
    if (known := format_of(plain)) is not None:
        return f"source: {yaml_text({known[0]: {'path': given, **known[1]}})}"
    ways = (f"source: {yaml_text({name: {'path': given}})}" for name in ("json_lines", "delimited"))
    return f"{' or '.join(ways)}; what is neither is written as CSV in UTF-8 first"


def _component(key: str, given: Mapping[Any, Any]) -> str | None:
    kind = _KINDS[key]
    if key in ("source", "sink") and isinstance(given.get("path"), str):
        name = FORMATS.get(PurePath(given["path"]).suffix.lower(), ("delimited", {}))[0]
        if set(given) <= set(find(kind, name).model_fields):
            return f"{key}: {yaml_text({name: given})}"
    named = [name for name in given if name in names(kind)]
    if len(named) > 1:
        return "give each an entry of its own, with a dash before it"
    return _settings(kind, named[0], given) if named else None


def _settings(kind: str, name: str, given: Mapping[Any, Any]) -> str:
    """Return a component with the settings that stand beside it instead of below it, or alone in their place."""
    beside = {key: value for key, value in given.items() if key != name}
    fields = find(kind, name).model_fields
    if beside and set(beside) <= set(fields):
        return f"{name}: {yaml_text(beside)}"
    needed = [field for field, about in fields.items() if about.is_required()]
    if len(needed) == 1 and isinstance(given[name], int | float | str):
        return f"{name}: {yaml_text({needed[0]: given[name]})}"
    return f"{name}: {{{', '.join(f'{field}: ...' for field in needed)}}}"


def _encoding(component: Component, given: Any) -> str:
    path = component.settings.get("path")
    encoding = given if isinstance(given, str) and _ENCODING.fullmatch(given) else "latin1"
    return f"utf-8, which alone is read; convert the file first: {to_utf8(path if isinstance(path, str) else 'data.csv', encoding)}"


def _lead(settings: Mapping[str, Any]) -> str | None:
    recursive, led = settings.get("kind") == "recursive", settings.get("c") is not None
    if recursive == led or not float(settings.get("l", 0)).is_integer():
        return None
    if led:
        return "leave c out, or say kind: recursive"
    return f"l_diversity: {yaml_text({**settings, 'c': 3})}"
