"""``sfumato drift``: whether a policy still fits its source, and its last release still keeps what was promised."""

from __future__ import annotations

import json
from pathlib import Path

from sfumato.cli.answers import answers
from sfumato.cli.compiling import compile_if_needed
from sfumato.cli.progress import Bars
from sfumato.errors import DriftError, number_of


def drift(policy: Path, format: str) -> None:
    """Print what has drifted, a line each, and end with a status of its own where anything has."""
    from sfumato.engine.drift import drift as find_drift
    from sfumato.engine.ladder_tree import on_one_line
    from sfumato.policy.load import load
    from sfumato.policy.views import resolve_views

    loaded = load(policy)
    if loaded.policy.source is None:
        resolve_views(loaded, needs=("source",))
    compile_if_needed(loaded)
    with Bars() as progress:
        outcome = find_drift(loaded, progress)
    if format == "json":
        told = [{"what": each.what, "words": each.words} | ({"view": each.view} if each.view else {}) for each in outcome.found]
        answer = {"since": outcome.since, "drifted": told, "not_compared": list(outcome.unlooked), "notes": list(outcome.notes)}
        answers().write(json.dumps(answer, indent=1, ensure_ascii=False) + "\n")
    else:
        answers().write("".join(f"{each.what}: {f'{each.view}: ' if each.view else ''}{each.words}\n" for each in outcome.found))
        answers().write("".join(f"note: {words}\n" for words in outcome.notes))
        since = f"the release of {outcome.since}" if outcome.since else "no earlier release, of which nothing is known here"
        answers().write(f"held against {since}\n")
        unlooked = f"the values of {', '.join(map(on_one_line, outcome.unlooked))} were not compared\n"
        answers().write(unlooked if outcome.since and outcome.unlooked else "")
        nothing = "nothing of what was compared has drifted\n" if outcome.unlooked else "nothing has drifted\n"
        answers().write("" if outcome.found or outcome.since is None else nothing)
    if outcome.since is None and not outcome.found:
        words = (
            "the policy fits its source, but nothing is known here of its last release, so that nobody can say whether that or the source has changed"
        )
        raise DriftError(words, code="drift-unknown", hint="run it again, by the installation (SFUMATO_HOME) in which drift is asked for")
    if outcome.found:
        raise DriftError(f"{number_of(len(outcome.found), 'thing')} drifted", code="drifted", hint="mend the policy or the source, and run it again")
