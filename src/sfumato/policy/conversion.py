"""A configuration of another module written as a policy: YAML, in the order in which people read one, with what was decided beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.core.yaml_text import yaml_text
from sfumato.errors import UsageError
from sfumato.policy.lines import parse
from sfumato.policy.load import read_document, validated
from sfumato.policy.module_configuration import Translation, is_module_configuration, translate
from sfumato.policy.resolve import resolve

_LONGEST = 100
_WIDEST = 140
_ORDER = ("source", "columns", "unnamed", "promises", "algorithm", "suppression_limit", "sink")


def convert(configuration: Path, folder: Path, source: Path | None = None, sink: Path | None = None) -> str:
    """Return a configuration as the text of a policy that will stand in a folder; all that is wrong with it is raised together.

    ``source`` and ``sink`` take the place of those of the file; paths are relative to where the program runs.
    """
    value, lines = read_document(configuration)
    if not is_module_configuration(value):
        raise UsageError(
            f"{configuration.name} is no configuration that can be converted",
            code="convert-kind",
            hint=f"sfumato check {configuration.name}, if it is a policy already",
        )
    start = configuration.resolve().parent
    given = {key: path for key, path in (("source", source), ("sink", sink)) if path is not None}
    value = {**value, **{key: str(path) if path.is_absolute() else os.path.relpath(path.resolve(), start) for key, path in given.items()}}
    resolve(validated(value, lines, start, configuration.name))
    translation = translate(value, lines)
    policy = {key: _seen_from(part, start, folder) if key in ("source", "sink") else part for key, part in translation.policy.items()}
    text = _text(policy, translation, configuration.name)
    if resolve(validated(*parse(text, "policy.yaml"), folder, "policy.yaml")).policy != validated(policy, lines, folder, "policy.yaml").policy:
        raise AssertionError("what was written says something else")
    return text


def _seen_from(part: Any, start: Path, folder: Path) -> Any:
    """Return a source or sink with its path, which was relative to one folder, relative to another."""
    if isinstance(part, str):
        return part if Path(part).is_absolute() else os.path.relpath(start / part, folder.resolve())
    if isinstance(part, Mapping):
        return {key: _seen_from(inner, start, folder) if key == "path" or isinstance(inner, Mapping) else inner for key, inner in part.items()}
    return part


def _text(policy: Mapping[str, Any], translation: Translation, name: str) -> str:
    lines = [f"# From {yaml_text(name)}, the configuration of a k-anonymisation module."]
    if "source" not in policy or "sink" not in policy:
        lacking = " and ".join(key for key in ("source", "sink") if key not in policy)
        lines.append(f"# It names no {lacking}.")
    for key in (key for key in _ORDER if key in policy):
        if key == "columns":
            lines += ["columns:", *_columns(policy["columns"], translation)]
        elif key == "promises":
            lines += ["promises:", *(f"  - {yaml_text(promise)[1:-1]}" for promise in policy["promises"])]
        else:
            lines += _remarked(f"{key}: {yaml_text(policy[key])}", translation.remarks.get((key,)))
    return "\n".join(lines) + "\n"


def _columns(columns: Mapping[str, Mapping[str, Any]], translation: Translation) -> list[str]:
    width = max(len(yaml_text(name)) for name in columns) + 1
    lines = []
    for name, column in columns.items():
        remark = translation.remarks.get(("columns", name))
        line = f"  {yaml_text(name) + ':':<{width}} {yaml_text(column)}"
        if len(line) <= _LONGEST:
            lines += _remarked(line, remark)
        else:
            lines += [*_remarked(f"  {yaml_text(name)}:", remark), *_block(column, "    ")]
    return lines


def _block(part: Mapping[str, Any], indent: str) -> list[str]:
    """Return a mapping with each key on a line of its own, and what does not fit on it below."""
    lines = []
    for key, value in part.items():
        line = f"{indent}{yaml_text(key)}: {yaml_text(value)}"
        if isinstance(value, Mapping) and value and len(line) > _LONGEST:
            lines += [f"{indent}{yaml_text(key)}:", *_block(value, indent + "  ")]
        else:
            lines.append(line)
    return lines


def _remarked(line: str, remark: str | None) -> list[str]:
    """Return a line with what was decided beside it, or above it where that is long."""
    if remark is None:
        return [line]
    beside = f"{line}   # {remark}"
    indent = " " * (len(line) - len(line.lstrip()))
    return [beside] if len(beside) <= _WIDEST else [f"{indent}# {part}" for part in remark.split("; ")] + [line]
