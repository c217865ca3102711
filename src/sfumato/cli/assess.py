"""``sfumato assess``: the risk of a table as it is."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.arrow_alone import load_arrow_alone
from sfumato.cli.progress import Bars
from sfumato.core.whose import Subject
from sfumato.errors import PolicyError, UsageError

POLICIES = {".yaml", ".yml"}

if TYPE_CHECKING:
    from sfumato.core.interfaces import Source


def assess(
    data: Path,
    quasi_identifiers: Sequence[str],
    subject: str | None,
    population: str | None,
    delimiter: str | None,
    encoding: str | None,
    format: str,
) -> None:
    """Read the table and print what was found."""
    from sfumato.engine.assess import assess as measure

    load_arrow_alone()
    written = {name: value for name, value in (("delimiter", delimiter), ("encoding", encoding)) if value}
    if data.suffix.lower() in POLICIES:
        source, quasi_identifiers, whose = _of_policy(data, quasi_identifiers, subject, written)
    else:
        source, whose = source_of(data, written), None if subject is None else Subject(subject)
    everybody: Any = None
    if population is not None:
        everybody = int(population) if population.removeprefix("-").isdecimal() else source_of(Path(population), written)
    with Bars() as progress:
        found = measure(source, quasi_identifiers, whose, everybody, progress)
    if format == "json":
        sys.stdout.write(json.dumps(found.as_mapping(), indent=1, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(f"{found}\n")


def _of_policy(path: Path, named: Sequence[str], subject: str | None, written: Mapping[str, str]) -> tuple[Source, Sequence[str], Subject | None]:
    """Return the source of a policy, and what it says that was not said here."""
    from sfumato.engine.plan import make_plans

    if written:
        raise UsageError(f"a policy says how its source is written: --{next(iter(written))} says it again", code="option-policy", hint="leave it out")
    plans = make_plans(path)
    if plans.are_tables:
        raise UsageError("the policy has several tables", code="view-unknown", hint="a policy whose source names one table")
    resolved = next(iter(plans.views.values())).resolved
    policy = resolved.policy
    known = plans.known.union(*(plan.quasi_identifiers for plan in plans.views.values()))
    columns = named or [name for name in policy.columns if name in known]
    if subject is None:
        return plans.source, columns, resolved.subject
    return plans.source, columns, Subject(subject, policy.columns[subject].type if subject in policy.columns else None)


def source_of(path: Path, written: Mapping[str, str]) -> Source:
    """Return the source that a file's ending says, with what is said beside it."""
    from sfumato.core.formats import ENDINGS
    from sfumato.policy.model import Policy
    from sfumato.registry import find

    try:
        component = Policy(source=f"{path}/" if path.is_dir() and not path.suffix else str(path), columns={}).source  # type: ignore[arg-type]  # a path becomes a component
    except PolicyError:
        words = f"{path} has an ending that says no format; known: {ENDINGS}"
        raise UsageError(words, code="format-unknown", hint="write a policy whose source says it, and: sfumato assess policy.yaml") from None
    if component is None:
        raise AssertionError("a policy keeps the source that it was given")
    source: Source = find("sources", component.name)(**{**component.settings, **written})
    return source
