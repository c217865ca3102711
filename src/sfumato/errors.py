"""The tree of errors, their codes and exit statuses.

A message has three parts: what is wrong and where, what was found or is allowed, and what to try. It names columns, keys, lines
and counts, never a cell value; nor a key that somebody pasted where its name belongs. Every code in brackets has a section in ``docs/errors.md``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sfumato.key_material import NOT_SHOWN, named, without_keys

_CALLED_ELSEWHERE = {
    "aes": "encrypt",
    "asterisk": "character_mask",
    "avg": "average",
    "bin": "generalise",
    "bucket": "generalise",
    "clip": "top_bottom_code",
    "csv": "delimited",
    "delete": "drop",
    "ff1": "format_preserving_encrypt",
    "fpe": "format_preserving_encrypt",
    "hmac": "hash",
    "jitter": "date_jitter noise",
    "lookup": "map_values",
    "maximum": "max",
    "md5": "hash",
    "mean": "average",
    "minimum": "min",
    "none": "empty keep",
    "null": "empty",
    "nullify": "empty",
    "permute": "shuffle",
    "perturb": "noise",
    "pseudonymise": "hash",
    "pseudonymize": "hash",
    "regex": "regex_replace",
    "remove": "drop empty",
    "replace": "constant map_values",
    "round": "round_number",
    "scramble": "shuffle_characters",
    "sha1": "hash",
    "sha256": "hash",
    "sha512": "hash",
    "sql": "expression",
    "star": "character_mask",
    "stars": "character_mask",
    "substring": "shorten",
    "suppress": "drop empty",
    "truncate": "shorten",
    "winsorize": "top_bottom_code",
}
"""What other programs call components and choices, and what these are called here."""

_MOST_NAMED = 20


class SfumatoError(Exception):
    """What every error of sfumato is: a sentence, a code, a hint, and the exit status of the command that met it."""

    status: ClassVar[int] = 1

    def __init__(self, message: str, *, code: str, hint: str | None = None) -> None:
        self.message = without_keys(message)
        self.code = code
        self.hint = without_keys(hint) if hint is not None else None
        super().__init__(self.sentence())

    def sentence(self) -> str:
        """Return the message as it is shown to people."""
        first = f"{self.message} [{self.code}]"
        return f"{first}\n  try: {self.hint}" if self.hint else first

    def as_mapping(self) -> dict[str, object]:
        """Return the error as it is printed with ``--format json``."""
        return {"status": self.status, "code": self.code, "message": self.message, "hint": self.hint}


class UsageError(SfumatoError):
    """The command was called in a way it does not know."""

    status = 2


@dataclass(frozen=True)
class Mistake:
    """One thing wrong with a policy: where it stands, what it is, and what to try.

    >>> print(Mistake(key="columns.zip", message="needs a role", code="policy-missing-key", line=4))
    line 4 columns.zip: needs a role [policy-missing-key]
    """

    key: str
    message: str
    code: str
    hint: str | None = None
    line: int | None = None

    def __post_init__(self) -> None:
        for name in ("key", "message", "hint"):
            if (text := getattr(self, name)) is not None:
                object.__setattr__(self, name, without_keys(text))

    def __str__(self) -> str:
        return f"line {self.line} {self.words()}" if self.line else self.words()

    def words(self) -> str:
        """Return the mistake without its line."""
        first = f"{self.key}: {self.message} [{self.code}]" if self.key else f"{self.message} [{self.code}]"
        return f"{first}\n  try: {self.hint}" if self.hint else first

    def as_mapping(self) -> dict[str, object]:
        """Return the mistake as it is printed with ``--format json``."""
        return {"line": self.line, "key": self.key, "code": self.code, "message": self.message, "hint": self.hint}


class PolicyError(SfumatoError):
    """The policy is wrong; all its mistakes are here at once."""

    status = 3

    def __init__(self, mistakes: Sequence[Mistake], *, name: str = "policy") -> None:
        self.mistakes = sorted(mistakes, key=lambda mistake: mistake.line or 0)
        self.name = name
        super().__init__(f"{number_of(len(mistakes), 'mistake')} in {name}", code=self.mistakes[0].code, hint=_hints(self.mistakes))

    def sentence(self) -> str:
        """Return one paragraph a mistake, each with file, line and key."""
        return "\n".join(f"{self.name}:{mistake.line or ''} {mistake.words()}" for mistake in self.mistakes)

    def as_mapping(self) -> dict[str, object]:
        """Return all mistakes, and what is said of them together."""
        return super().as_mapping() | {"mistakes": [mistake.as_mapping() for mistake in self.mistakes]}


class PromiseError(SfumatoError):
    """A promise cannot be kept, or was found broken in what was written; nothing has been published."""

    status = 4


class UnreachableError(SfumatoError):
    """A file, a folder, a server, a key or another package cannot be reached, read, written or used."""

    status = 5


class DataError(SfumatoError):
    """The data do not fit the policy."""

    status = 6


class DriftError(SfumatoError):
    """Something is no longer as it was at the last release, or nobody knows how that was."""

    status = 7


def _hints(mistakes: Sequence[Mistake]) -> str:
    """Return what to try for all mistakes together; one without a hint says what is allowed in its message."""
    if len(mistakes) == 1:
        return mistakes[0].hint or mistakes[0].message
    return "; ".join(f"{mistake.key or 'policy'}: {mistake.hint or mistake.message}" for mistake in mistakes)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that ``name`` was probably meant to be.

    >>> nearest("mondrain", ["mondrian", "datafly"]), nearest("mean", ["median", "average"])
    ('mondrian', 'average')
    """
    known = list(known)
    called = _called(name, known)
    if called:
        return called[0]
    matches = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return matches[0] if matches else None


def _called(name: str, known: Iterable[str]) -> list[str]:
    """Return what other programs call by this name."""
    there = set(known)
    return [other for other in _CALLED_ELSEWHERE.get(name.lower().replace("-", "_"), "").split() if other in there]


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the hint for an unknown name: the nearest one, or all that are known.

    >>> suggestion("agee", ["age", "zip"])
    'age'
    >>> suggestion("xyz", ["age", "zip"]), suggestion("xyz", ["age"])
    ('one of age, zip', 'only age is known')
    >>> suggestion("remove", ["drop", "empty", "noise"])
    'drop or empty'
    """
    # a policy's own names stand there too
    names = sorted(named(each, NOT_SHOWN) for each in known)
    called = _called(name, names)
    if called:
        return " or ".join(called)
    if not names:
        return "leave it out: none is known"
    if len(names) == 1:
        return nearest(name, names) or f"only {names[0]} is known"
    return nearest(name, names) or f"one of {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}"


def number_of(number: int, thing: str) -> str:
    """Return how many there are of a thing, in words.

    >>> number_of(1, "row"), number_of(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def first_few(names: Sequence[str]) -> str:
    """Return names in a row, of many only the first and how many more there are.

    >>> first_few(["a", "b"]), first_few([str(number) for number in range(100)])
    ('a, b', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19 and 80 more')
    """
    more = len(names) - _MOST_NAMED
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:_MOST_NAMED])} and {more} more"


def have(number: int, thing: str) -> str:
    """Return how many of a thing have what the sentence goes on with.

    >>> have(1, "row"), have(2, "row")
    ('1 row has', '2 rows have')
    """
    return f"{number_of(number, thing)} {'has' if number == 1 else 'have'}"


def nothing_to_resume(why: str) -> UsageError:
    """Return the error of a run that should go on with another one's work, and finds none."""
    return UsageError(f"there is nothing to resume: {why}", code="resume-nothing", hint="leave --resume out")
