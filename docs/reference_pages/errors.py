"""The page of one error code: its section of ``docs/errors.md``, and what the program says."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from reference_pages.error_messages import Message, messages, told_apart
from reference_pages.readings import OPEN
from sfumato import errors
from sfumato.errors import PolicyError, SfumatoError

WRITTEN = Path(__file__).parents[1] / "errors.md"
_WARNINGS = "lint-"
# what is read from a file of the policy is checked with the policy
_OF_THE_POLICY = PolicyError.status
_WARNED = "0: `sfumato check` warns of it. With `--strict` 3: the policy is refused."
_KINDS = {kind.status: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, SfumatoError)}


def sections() -> list[tuple[str, str]]:
    """Return the codes of the written page, each with its text."""
    parts = re.split(r"^## (.+)\n", WRITTEN.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return [(code, text.strip()) for code, text in zip(parts[::2], parts[1::2], strict=True)]


def error_page(code: str, text: str) -> str:
    """Return the page of a code."""
    forms = messages().get(code, ())
    if not forms:
        # of a record in a stream: only the code is written down
        return f"# {code}\n\n{_relinked(text)}\n\nAll codes on one page: [errors.md](../../errors.md#{code}).\n"
    parts = [
        f"# {code}",
        _relinked(text),
        f"## Exit status\n\n{_WARNED if code.startswith(_WARNINGS) else _statuses(forms, statuses_said(text))}",
        f"## What the program says\n\n{_said(forms, 'warning: ' if code.startswith(_WARNINGS) else '')}",
        f"Said in {_files(forms)}. All codes on one page: [errors.md](../../errors.md#{code}).",
    ]
    return "\n\n".join(parts) + "\n"


def _relinked(text: str) -> str:
    """Return a text of the written page with its links as they are from here."""
    return re.sub(r"\]\((?=[a-z])(?!https?:)", "](../../", re.sub(r"\]\(#", "](../../errors.md#", text))


def statuses_said(text: str) -> set[int]:
    """Return the exit statuses that the first sentence of a section names."""
    first = re.match(r"Status [^.]*\.", text)
    return {int(number) for number in re.findall(r"\d+", first[0])} if first else set()


def _statuses(forms: tuple[Message, ...], said: set[int]) -> str:
    statuses = sorted({form.status for form in forms})
    lines = [f"- {status}: {_meaning(status)}." for status in statuses]
    if said - set(statuses) == {_OF_THE_POLICY}:
        names = " or ".join(f"`{_KINDS[status].__name__}`" for status in statuses)
        return f"- 3: {_meaning(3)}; files that it names are checked with it. Outside of a policy, in Python, the error is a {names}."
    return "\n".join(lines)


def _meaning(status: int) -> str:
    if status == SfumatoError.status:
        return "our fault"
    words = (inspect.getdoc(_KINDS[status]) or "").split(";")[0].rstrip(".")
    return words[0].lower() + words[1:]


def _said(forms: tuple[Message, ...], before: str) -> str:
    told = told_apart(forms)
    parts = []
    if told:
        shown = "\n\n".join(f"{before}{form}" for form in told)
        open_hints = f" Where a hint is only `{OPEN}` there may be none." if any(form.hint == OPEN for form in told) else ""
        stands_for = f"`{OPEN}` stands for what is put in: a name, a place, a number.{open_hints}\n\n" if OPEN in shown else ""
        parts.append(f"{stands_for}```\n{shown}\n```")
    if any(form.words == OPEN for form in forms):
        hints = list(dict.fromkeys(form.hint for form in forms if form.words == OPEN and form.hint not in (None, OPEN)))
        advised = f", with the hint {' or '.join(f'`{hint}`' for hint in hints)}" if hints else ""
        parts.append(f"{'What else is said' if told else 'What is said'} with this code is put together when the program runs{advised}.")
    return "\n\n".join(parts)


def _files(forms: tuple[Message, ...]) -> str:
    files = sorted({form.file for form in forms})
    return ", ".join(f"[{file}](../../../src/sfumato/{file})" for file in files)
