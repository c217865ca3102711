"""``sfumato assess``: the risk of a table as it is."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.arrow_alone import load_arrow_alone
from sfumato.cli.progress import Bars

if TYPE_CHECKING:
    from sfumato.core.interfaces import Source


def assess(data: Path, quasi_identifiers: Sequence[str], subject: str | None, population: str | None, delimiter: str | None, format: str) -> None:
    """Read the table and print what was found."""
    from sfumato.engine.assess import assess as measure

    load_arrow_alone()
    everybody: Any = None
    if population is not None:
        everybody = int(population) if population.isdecimal() else _source(Path(population), delimiter)
    with Bars() as progress:
        found = measure(_source(data, delimiter), quasi_identifiers, subject, everybody, progress)
    if format == "json":
        sys.stdout.write(json.dumps(found.as_mapping(), indent=1, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(f"{found}\n")


def _source(path: Path, delimiter: str | None) -> Source:
    from sfumato.policy.model import Policy
    from sfumato.registry import find

    component = Policy(source=f"{path}/" if path.is_dir() and not path.suffix else str(path), columns={}).source  # type: ignore[arg-type]  # a path becomes a component
    if component is None:
        raise AssertionError("a policy keeps the source that it was given")
    settings = component.settings | ({"delimiter": delimiter} if delimiter else {})
    source: Source = find("sources", component.name)(**settings)
    return source
