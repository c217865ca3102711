"""What platforms that mask column by column call their operations, and what to write here.

They are no second names: their settings are others, and a policy that is read with the settings of another program would not do what it says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_SUPPRESSION = ('constant: {value: "*"}', "drop")
_GENERALISATION = ("generalise: {size: 10, minimum: 0, maximum: 99}", "generalise: {intervals: 5, minimum: 0, maximum: 99}")
_TOKENS = ("tokenise: {order: sequence, start: 1, step: 1, output: integer}", "tokenise")
OPERATIONS: Mapping[str, Sequence[str]] = {
    "column_shuffle": ("shuffle", "shuffle: {repetition: true}"),
    "encryption": ("encrypt: {key: main}", "deterministic_encrypt: {key: main}"),
    "generalisation": _GENERALISATION,
    "generalization": _GENERALISATION,
    "hashing": ("hash: {key: main}", "hash: {unkeyed: sha256}"),
    "pattern_masking": ('pattern_mask: {pattern: "OOXX", character: "*", excess: discard}',),
    "perturbation": ("noise: {amount: 5, minimum: 0, maximum: 99}", "noise: {relative: 0.1}"),
    "random_number": ("random_number: {minimum: 1, maximum: 99, output: integer}",),
    "row_shuffle": ("shuffle_characters: {letters: lower}", "shuffle_characters: {repetition: true}"),
    "shortening": ('shorten: {length: 3, ellipsis: "."}',),
    "substitution": ("choice: {values: [a, b], turn: row}", "choice: {values: [a, b], turn: value}", "map_values: {mapping: {a: b}}"),
    "suppression": _SUPPRESSION,
    "tokenisation": _TOKENS,
    "tokenization": _TOKENS,
}
"""The operations of ours that do the same, each as a policy has it, with the settings that they are likely to need."""

# a name that says something else to those who do not know the platform
_TWO_MEANINGS = {"row_shuffle": ("the characters within each value", "the values among rows: shuffle")}


def hint_for(name: str) -> str | None:
    """Return what to write for an operation of another platform, however its name is written; None where nobody knows it.

    >>> hint_for("PatternMasking")
    'pattern_mask: {pattern: "OOXX", character: "*", excess: discard}'
    >>> hint_for("row_shuffle").split("; ")[1]
    'the values among rows: shuffle'
    """
    known = re.sub(r"(?<=[a-z])(?=[A-Z])|[-\s]+", "_", name).lower()
    if known not in OPERATIONS:
        return None
    ours = " or ".join(OPERATIONS[known])
    meant, other = _TWO_MEANINGS.get(known, (None, None))
    return ours if meant is None else f"{meant}: {ours}; {other}"
