"""The session of Spark: the one that runs, else one of our own, silent. What Spark says is told in our words: its own may quote values."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sfumato.errors import DataError, SfumatoError, UnreachableError, UsageError

_HERE = "local[*]"
_JAVA = "Spark needs Java 17 or later, and none is found that works"
_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}
_DEEP = 20
_FULL = "No space left on device"


def session_of(master: str | None) -> Any:
    """Return the session that runs; where there is none, make one."""
    pyspark = _library()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        if pyspark.SparkContext._active_spark_context is None and _is_remote():
            raise by_connect()
        if pyspark.SparkContext._active_spark_context is None:
            return _made(SparkSession, master or _HERE)
        with spark_errors():
            running = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
            if master is not None and running.sparkContext.master != master:
                hint = "leave master out: the session that runs is taken"
                raise UsageError(f"Spark runs already, with another master than {master}", code="spark-master", hint=hint)
        return running


def by_connect() -> UsageError:
    """Return the error of a session that is only a client."""
    return UsageError(
        "Spark is reached by Spark Connect, which can neither lock nor rename folders",
        code="spark-connect",
        hint="run on the driver, in a session of its own: SparkSession.builder.master(...)",
    )


def is_local(session: Any) -> bool:
    """Return whether all workers of a session are threads of this machine."""
    return str(session.sparkContext.master).partition("[")[0] == "local"


@contextmanager
def spark_errors(name: str = "") -> Iterator[None]:
    """Turn whatever Spark says about a table or a path, or the bridge to it, into one clear error; ``name`` is what was worked on."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        with warnings.catch_warnings():
            # what the libraries of Spark say of each other's versions is nobody's concern here
            warnings.simplefilter("ignore")
            yield
    except SfumatoError:
        raise
    except (PySparkException, Py4JError, ConnectionError, EOFError, AttributeError, AssertionError) as error:
        if isinstance(error, (AttributeError, AssertionError)) and not _is_gone():
            # what a stopped session lacks is told as a fault of a program; a fault of ours is one
            raise
        raise _told(error, name) from None


def _told(error: Exception, name: str) -> SfumatoError:
    if _is_gone():
        return UnreachableError(
            "the session of Spark has ended, or cannot be reached; nothing has been published", code="spark-gone", hint="begin one, and run again"
        )
    condition = _condition(error)
    if condition == "PATH_NOT_FOUND":
        return UnreachableError(f"{name} is not there", code="file-missing", hint="look at the path, and at the file system that Spark reads")
    if condition in ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "CATALOG_NOT_FOUND"):
        return DataError(f"Spark has no table {name}", code="table-missing", hint="look at the name and its schema, and at the session")
    if condition.startswith("UNABLE_TO_INFER_SCHEMA"):
        return UnreachableError(f"{name} holds no Parquet files", code="source-no-files", hint="name a file, or the folder that holds them")
    if condition.startswith(("CANNOT_READ_FILE_FOOTER", "FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER")):
        return DataError(f"{name} is damaged or no Parquet file", code="parquet-damaged", hint="write the file again")
    if condition == "COLUMN_ALREADY_EXISTS":
        return DataError(f"{name} has columns whose names are one to Spark", code="column-duplicate", hint="rename them: to Spark, a and A are one")
    causes = _causes(error)
    if any(cause.endswith(("AccessControlException", "AccessDeniedException")) for cause in causes):
        return UnreachableError(f"{name} may not be read or written by Spark", code="file-permission", hint="ask for the permission")
    if _FULL in causes:
        return UnreachableError("Spark has no space left to write; nothing has been published", code="disk-full", hint="free some space")
    return UnreachableError(
        f"Spark could not do what it was asked{f' of {name}' if name else ''}{f' ({condition})' if condition else ''}; nothing has been published",
        code="spark-failed",
        hint="Spark's own log says more",
    )


def _is_gone() -> bool:
    """Return whether there is no session any more."""
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    try:
        return context is None or context._jsc is None or bool(context._jsc.sc().isStopped())
    except Exception:  # noqa: BLE001 - whatever it is, nobody answers
        return True


def _condition(error: Exception) -> str:
    """Return the name that Spark has for an error, which tells no value."""
    told = getattr(error, "getCondition", lambda: None)()
    for cause in _throwables(error):
        # most errors of Java have no such name
        with suppress(Exception):
            told = told or cause.getCondition()
    return str(told or "")


def _causes(error: Exception) -> list[str]:
    """Return the classes of what led to an error, and whether it was a full disk."""
    found: list[str] = []
    with suppress(Exception):
        for cause in _throwables(error):
            found.append(str(cause.getClass().getName()))
            if _FULL in str(cause.getMessage()):
                found.append(_FULL)
    return found


def _throwables(error: Exception) -> Iterator[Any]:
    """Return what Java has thrown, and what led to that."""
    from py4j.protocol import Py4JJavaError

    # an error that pyspark has taken over keeps that of Java under a private name
    cause = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    for _ in range(_DEEP):
        if cause is None:
            return
        yield cause
        cause = cause.getCause()


def _library() -> Any:
    try:
        import pyspark
    except ImportError:
        raise UnreachableError("Spark needs the library pyspark", code="spark-missing", hint="pip install 'sfumato[spark]'") from None
    return pyspark


def _is_remote() -> bool:
    from pyspark.sql.utils import is_remote

    return "SPARK_REMOTE" in os.environ or bool(is_remote())


def _made(sessions: Any, master: str) -> Any:
    """Make a session, of which nothing is heard: the lines of its log quote values."""
    home = os.environ.get("JAVA_HOME")
    if not (home and shutil.which("java", path=str(Path(home) / "bin"))) and shutil.which("java") is None:
        raise _no_java()
    settings = _QUIET | (_LOOPBACK if master.startswith("local") else {})
    try:
        builder = sessions.builder.master(master).appName("sfumato")
        for key, value in settings.items():
            builder = builder.config(key, value)
        with _nothing_heard():
            return builder.getOrCreate()
    except Exception as error:  # noqa: BLE001 - libraries of Spark raise anything
        if _condition(error) == "JAVA_GATEWAY_EXITED":
            raise _no_java() from None
        hint = "look at master; local[*] is this machine"
        raise UnreachableError(f"no session of Spark can be made with the master {master}", code="spark-master", hint=hint) from None


def _no_java() -> UnreachableError:
    return UnreachableError(_JAVA, code="spark-java", hint="sudo apt-get install openjdk-17-jre-headless; or JAVA_HOME, where it is elsewhere")


@contextmanager
def _nothing_heard() -> Iterator[None]:
    """Give a process that is started meanwhile no standard error."""
    sys.stderr.flush()
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)
