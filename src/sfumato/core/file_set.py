"""A set of files that one path of a policy stands for: the file itself, all of a folder, or those that a pattern matches.

Names that begin with ``.`` or ``_`` are left out, as the tools that write such folders mean them to be, unless the pattern itself names
them so. A folder that may not be read is an error: nothing is left out because it could not be seen.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePath

from sfumato.core.files import file_errors
from sfumato.errors import DataError, UnreachableError

_MAGIC = re.compile(r"[*?\[]")
_ANY_DEPTH = "**"
_NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def is_pattern(path: str) -> bool:
    """Return whether a path is a pattern and not the name of something that is there.

    >>> is_pattern("data/*.csv"), is_pattern("data/a.csv")
    (True, False)
    """
    return bool(_MAGIC.search(path)) and not os.path.lexists(path)


def is_several(path: str) -> bool:
    """Return whether a path stands for the files of a folder or of a pattern."""
    return is_pattern(path) or _is_folder(path)


def files_of(path: str, is_wanted: Callable[[str], bool], wanted: str) -> list[str]:
    """Return the files of a path in the order of their names; ``is_wanted`` chooses among those of a folder, ``wanted`` says in words which."""
    files = _found(path, is_wanted)
    if not files:
        message, hint = f"the folder {path} holds no file {wanted}", "look at the path, or name files by a pattern such as folder/*"
        if is_pattern(path):
            message, hint = f"no file matches {path}", "look at the pattern: * stands for any part of one name, ** for any folders"
        raise UnreachableError(message, code="source-no-files", hint=hint)
    if is_several(path):
        _refuse_twice(path, files)
    return files


def files_now(path: str, is_wanted: Callable[[str], bool]) -> list[str]:
    """Return the files of a path that are there now, each under one of its names: for those who follow them, and look again.

    A link that leads nowhere is a file that is not there yet: whoever may make a name in a folder must not be able to stop who follows it.
    """
    files: dict[tuple[int, int], str] = {}
    for file in _found(path, is_wanted):
        with file_errors(file):
            try:
                status = Path(file).stat()
            except OSError as error:
                if error.errno in _NOWHERE:
                    continue
                raise
        files.setdefault((status.st_dev, status.st_ino), file)
    return list(files.values())


def _found(path: str, is_wanted: Callable[[str], bool]) -> list[str]:
    if is_pattern(path):
        _refuse_going_up(path)
        found = [file for file in _matching(*_split(path), _seen()) if not _is_folder(file)]
    elif _is_folder(path):
        found = [file for file in _below(Path(path), _seen()) if is_wanted(file.name)]
    else:
        return [path]
    return [str(file) for file in sorted(set(found), key=lambda file: file.parts)]


def _refuse_going_up(pattern: str) -> None:
    """Refuse a pattern that goes up again: whether a release would lie among its files could not be told before they are there."""
    if ".." in _split(pattern)[1]:
        raise UnreachableError(f"the pattern {pattern} goes up again with ..", code="source-no-files", hint="begin it in the folder it goes up to")


def _refuse_twice(path: str, files: Sequence[str]) -> None:
    """Refuse one file under two names: everybody in it would be counted twice, and every class be half as large as it seems."""
    seen: dict[tuple[int, int], str] = {}
    for file in files:
        with file_errors(file):
            status = Path(file).stat()
        other = seen.setdefault((status.st_dev, status.st_ino), file)
        if other != file:
            raise DataError(
                f"{other} and {file} of {path} are one file: its rows would be counted twice",
                code="file-twice",
                hint="remove the link, or name the files by a pattern that leaves it out",
            )


def fixed_part(path: str) -> Path:
    """Return the folder below which all files of a path are.

    >>> fixed_part("data/2024/*/a.csv").as_posix()
    'data/2024'
    """
    return _split(path)[0] if is_pattern(path) else Path(path)


def would_hold(path: str, other: str) -> bool:
    """Return whether a file would be among those of a path if it were there: it lies in the folder, or the pattern matches it.

    >>> would_hold("data/**/*.csv", "data/2024/a.csv"), would_hold("data/*.csv", "data/2024/a.csv")
    (True, False)
    """
    target = PurePath(os.path.realpath(other))
    if _is_folder(path):
        return target.is_relative_to(os.path.realpath(path))
    if not is_pattern(path):
        return False
    folder, steps = _split(path)
    root = os.path.realpath(folder)
    return target.is_relative_to(root) and _fits(target.relative_to(root).parts, steps)


def _is_folder(path: str | Path) -> bool:
    """Return whether there is such a folder; of a name that no system has there is none."""
    try:
        return Path(path).is_dir()
    except OSError:
        return False


def _split(pattern: str) -> tuple[Path, tuple[str, ...]]:
    """Return the folder where a pattern begins, and its steps from there."""
    parts = PurePath(pattern).parts
    place = next(place for place, part in enumerate(parts) if _MAGIC.search(part))
    return Path(*parts[:place]), parts[place:]


def _seen() -> frozenset[tuple[int, int]]:
    return frozenset()


def _matching(folder: Path, steps: Sequence[str], above: frozenset[tuple[int, int]]) -> Iterator[Path]:
    step, rest = steps[0], steps[1:]
    if step == _ANY_DEPTH:
        yield from _matching(folder, rest or ("*",), above)
        for child, inside in _folders(folder, above):
            yield from _matching(child, steps, inside)
        return
    if _MAGIC.search(step):
        found = [child for child in _entries(folder) if _is_named(child.name, step)]
    else:
        found = [child for child in (folder / step,) if os.path.lexists(child)]
    for child in found:
        if not rest:
            yield child
        elif _is_folder(child):
            yield from _matching(child, rest, above)


def _below(folder: Path, above: frozenset[tuple[int, int]]) -> Iterator[Path]:
    """Yield all files of a folder and of those within it."""
    yield from (child for child in _entries(folder) if not _is_folder(child) and _is_named(child.name, "*"))
    for child, inside in _folders(folder, above):
        yield from _below(child, inside)


def _folders(folder: Path, above: frozenset[tuple[int, int]]) -> Iterator[tuple[Path, frozenset[tuple[int, int]]]]:
    """Yield the folders within a folder; one that leads back to where we came from would never end."""
    with file_errors(folder):
        status = folder.stat()
        inside = above | {(status.st_dev, status.st_ino)}
        for child in _entries(folder):
            if _is_folder(child) and _is_named(child.name, "*") and (child.stat().st_dev, child.stat().st_ino) not in inside:
                yield child, inside


def _entries(folder: Path) -> list[Path]:
    with file_errors(folder):
        return list(folder.iterdir())


def _is_named(name: str, step: str) -> bool:
    return fnmatch.fnmatchcase(name, step) and (name[0] not in "._" or step[0] == name[0])


def _fits(parts: Sequence[str], steps: Sequence[str]) -> bool:
    """Return whether the steps of a pattern match the parts of a name."""
    if not steps or not parts:
        return not parts and not [step for step in steps if step != _ANY_DEPTH]
    if steps[0] == _ANY_DEPTH:
        return len(steps) == 1 or _fits(parts, steps[1:]) or _fits(parts[1:], steps)
    return fnmatch.fnmatchcase(parts[0], steps[0]) and _fits(parts[1:], steps[1:])
