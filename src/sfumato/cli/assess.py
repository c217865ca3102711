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
    from sfumato.engine.assess import Assessment


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
        sys.stdout.write(_words(found))


def _source(path: Path, delimiter: str | None) -> Source:
    from sfumato.policy.model import Policy
    from sfumato.registry import find

    component = Policy(source=f"{path}/" if path.is_dir() and not path.suffix else str(path), columns={}).source  # type: ignore[arg-type]  # a path becomes a component
    if component is None:
        raise AssertionError("a policy keeps the source that it was given")
    settings = component.settings | ({"delimiter": delimiter} if delimiter else {})
    source: Source = find("sources", component.name)(**settings)
    return source


def _words(found: Assessment) -> str:
    who = "people" if found.people != found.rows else "rows"
    prosecutor = found.prosecutor
    lines = [
        f"table          {found.rows:,} rows" + (f" of {found.people:,} people in their combinations" if who == "people" else ""),
        f"by             {', '.join(found.quasi_identifiers)}",
        f"unique         {prosecutor['unique']:.2%} of the {who} share their combination with nobody",
        "prosecutor     who knows that somebody is in the table finds them with a probability",
        f"  of at most   {prosecutor['highest_risk']:.2%}",
        f"  on average   {prosecutor['average_risk']:.2%}, which is also the part of everybody that a marketer finds",
        *(f"  risk > {threshold:<5} {share:.2%} of the {who}" for threshold, share in prosecutor["at_risk"].items()),
    ]
    if found.journalist is not None:
        highest, average = found.journalist["highest_risk"], found.journalist["average_risk"]
        lines.append("journalist     who knows only that somebody is in the population finds them with a probability")
        if found.journalist["estimated"]:
            lines += [
                f"  about        {average:.2%} on average, {highest:.2%} for those who are alone in the table",
                "               estimated from the number alone, as if the table were a random sample; a table of the population tells the true one",
            ]
        else:
            lines += [f"  of at most   {highest:.2%}", f"  on average   {average:.2%}"]
    lines.append("columns and combinations that single people out most")
    told = [*found.columns, *found.combinations]
    width = max(len(", ".join(about["columns"])) for about in told)
    lines.append(f"  {'':<{width}}  unique  separation  distinction")
    lines += [
        f"  {', '.join(about['columns']):<{width}}  {about['unique']:>6.2%}  {about['separation']:>10.4%}  {about['distinction']:>11.4%}"
        for about in told
    ]
    return "\n".join(lines) + "\n"
