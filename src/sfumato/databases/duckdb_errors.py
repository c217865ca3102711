"""What DuckDB says when something does not work, in our words: its own may quote a value."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from sfumato.databases.failures import FAILED, FULL, LOCKED, VALUE, Failure
from sfumato.errors import SfumatoError

_MARK, _PLACE = b"DUCK", 8
MISSING = Failure("is not there", code="database-missing", hint="look at the path, which begins at the policy file")
HELD = Failure(
    "is in use by another process, or by another connection of this one",
    code="database-locked",
    hint="close it there: one process may write to a database file, or several may read it",
)
NO_DATABASE_FILE = Failure(
    "is no database file of DuckDB, or is damaged", code="database-file", hint="name another file, or take a copy of it that is whole"
)
OTHER_VERSION = Failure(
    "is of a storage version that this DuckDB cannot read, or is encrypted",
    code="database-version",
    hint="pip install --upgrade duckdb; one that is encrypted is not read at all",
)
NO_RIGHT = Failure("may not be opened by this user", code="database-rights", hint="chmod; a file that is written to needs a folder that is, too")
SHADOWED = Failure(
    "has macros that go by the names of functions of DuckDB, so that no statement says what it means there",
    code="database-macros",
    hint="DROP MACRO, or give them other names",
    of_data=True,
)
VIEW = Failure(
    "does not allow what a view asks for",
    code="database-failed",
    hint="a view that reads other files or needs an extension is not read: make a table of it",
)
NOT_DONE = Failure(
    "could not do what it was asked", code="database-failed", hint="look whether tables or views were changed meanwhile, or a view fails"
)


def not_opened(shown: str, path: Path, error: Exception) -> SfumatoError:
    """Return why a database file could not be opened."""
    said = str(error)
    if _says(said, "lock on file", "different configuration"):
        return HELD.error(shown)
    if _says(said, "permission denied", "read-only file system"):
        return NO_RIGHT.error(shown)
    if _says(said, "no space", "file too large", "quota"):
        return FULL.error(shown)
    if not path.exists():
        return MISSING.error(shown)
    if not _is_marked(path):
        return NO_DATABASE_FILE.error(shown)
    return (OTHER_VERSION if _says(said, "version", "encrypt") else NO_DATABASE_FILE).error(shown)


@contextmanager
def duckdb_errors(shown: str) -> Iterator[None]:
    """Turn what goes wrong within an open database into our errors."""
    import duckdb

    try:
        yield
    except duckdb.OutOfMemoryException as error:
        if _says(str(error), "no space", "max_temp_directory_size"):
            raise FULL.error(shown) from None
        raise MemoryError from None
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.Error as error:
        raise _failure(error).error(shown) from None
    except (OSError, pa.ArrowException) as error:
        raise (FULL if _says(str(error), "no space", "file too large") else FAILED).error(shown) from None


def _failure(error: Exception) -> Failure:
    import duckdb

    said = str(error)
    if _says(said, "no space", "file too large", "quota exceeded"):
        return FULL
    if isinstance(error, duckdb.PermissionException) or _says(said, "autoload", "load the extension"):
        return VIEW
    if isinstance(error, duckdb.TransactionException) and "conflict" in said.lower():
        return LOCKED
    if isinstance(error, duckdb.ConversionException | duckdb.OutOfRangeException | duckdb.ConstraintException):
        return VALUE
    return NOT_DONE


def _says(said: str, *words: str) -> bool:
    return any(word in said.lower() for word in words)


def _is_marked(path: Path) -> bool:
    """Return whether a file begins as those of DuckDB do."""
    try:
        with path.open("rb") as file:
            return file.read(_PLACE + len(_MARK))[_PLACE:] == _MARK
    except OSError:
        return False
