"""Who made a component: sfumato, or another package, of which a fault is told as a fault of that package.

Nothing that the exception of a foreign component says is passed on: it may quote a cell. Its kind and its place in the code are enough to report it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.core.mask import Card, Mask, MaskContext
from sfumato.errors import SfumatoError, UnreachableError, number_of

_OURS = "sfumato"
_TEXTS = (pa.string(), pa.large_string())


def is_foreign(component: object) -> bool:
    """Return whether a component is of another package."""
    return _root(type(component).__module__) != _OURS


def maker_of(component: object) -> str:
    """Return the name and the version of the package that a component is of; where none says that it is, the name of its module.

    >>> maker_of(Path())
    'pathlib'
    """
    root = _root(type(component).__module__)
    return _packages().get(root, root)


def package_of(entry: EntryPoint) -> str:
    """Return the name and the version of the package that offers an entry point."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else _root(entry.module)


@contextmanager
def faults_of(mask: Mask, column: str | None) -> Iterator[None]:
    """Tell an error within an operation of another package as one of that package; errors of ours stay as they are."""
    try:
        yield
    except (SfumatoError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        # one that ends the process would end it as if all were done
        if not is_foreign(mask):
            raise
        raise _fault(mask, column, f"has failed, by {kind_of(error)} at {_place(error)}") from None


def refuse_misfit(mask: Mask, made: Any, columns: pa.RecordBatch, context: MaskContext) -> None:
    """Refuse what an operation of another package has made where it is no column of so many rows and of the type that it has announced."""
    if not is_foreign(mask):
        return
    if not isinstance(made, pa.Array):
        raise _fault(mask, context.column, f"has made a {type(made).__name__}, and must make an Arrow array")
    if len(made) != columns.num_rows:
        raise _fault(mask, context.column, f"has made {number_of(len(made), 'value')} of {number_of(columns.num_rows, 'row')}")
    try:
        made.validate(full=True)
    except pa.ArrowInvalid:
        # texts that are no UTF-8 would be met in a file, and taken for those of the source
        raise _fault(mask, context.column, f"has made a damaged array of the type {made.type}") from None
    announced = announced_type(mask, columns.column(context.column).type, context.column)
    if _plain(made.type) != _plain(announced):
        raise _fault(mask, context.column, f"has made values of the type {made.type}, and has announced {announced}")


def refuse_misshapen(mask: Mask, column: str | None = None) -> None:
    """Refuse an operation of another package whose card, columns, keys or warnings are not what they must be, before anything asks for them."""
    if not is_foreign(mask):
        return
    with faults_of(mask, column):
        card = mask.card
        lists = {"reads": mask.reads, "keys": mask.keys, "warnings": getattr(mask, "warnings", ())}
    if not isinstance(card, Card):
        raise _fault(mask, column, f"has a {type(card).__name__} as its card")
    for name, found in lists.items():
        if isinstance(found, str) or not isinstance(found, Sequence) or not all(isinstance(text, str) for text in found):
            raise _fault(mask, column, f"has {name} that are no list of texts")


def announced_type(mask: Mask, original: pa.DataType, column: str) -> pa.DataType:
    """Return the type of what an operation makes of values of a type; refuse what an operation of another package says where it is none."""
    with faults_of(mask, column):
        announced = mask.output_type(original)
    if not isinstance(announced, pa.DataType):
        raise _fault(mask, column, f"has announced a {type(announced).__name__}, and must announce an Arrow type")
    return announced


def kind_of(error: BaseException) -> str:
    """Return the name of an exception's class where its module has it; a class that was made on the way may be called as a cell.

    >>> kind_of(ValueError()), kind_of(type("Ann", (Exception,), {})())
    ('ValueError', 'an exception')
    """
    kind = type(error)
    known = getattr(sys.modules.get(kind.__module__), kind.__name__, None)
    return kind.__name__ if known is kind else "an exception"


def package_at_fault(error: BaseException) -> tuple[str, str] | None:
    """Return the package of a component in whose code, or in what it called, an error arose, and the place there; None where there is none."""
    packages = _packages()
    found = None
    trace = error.__traceback__
    while trace is not None:
        package = packages.get(_root(trace.tb_frame.f_globals.get("__name__", "")))
        if package is not None:
            found = package, f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def without_version(package: str) -> str:
    """Return the name of a package alone.

    >>> without_version("elsewhere 1.0")
    'elsewhere'
    """
    return package.partition(" ")[0]


def _fault(mask: Mask, column: str | None, words: str) -> UnreachableError:
    maker, place = maker_of(mask), f"column {column}: " if column is not None else ""
    return UnreachableError(
        f"{place}{mask.component_name()}, an operation of the package {maker}, {words}",
        code="component-fault",
        hint=f"report it to the makers of {without_version(maker)} with this line; until it is mended, another operation",
    )


def _packages() -> dict[str, str]:
    """Return the packages that offer components, by the names of their outermost modules."""
    groups = [group for group in entry_points().groups if group.startswith(f"{_OURS}.")]
    found = {_root(entry.module): package_of(entry) for group in groups for entry in entry_points(group=group)}
    return {root: package for root, package in found.items() if root != _OURS}


def _place(error: BaseException) -> str:
    """Return the file and the line where an error arose; of a library below the component, the last place that is known to be no library of ours."""
    told = package_at_fault(error)
    if told is not None:
        return told[1]
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "unknown" if trace is None else f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"


def _root(module: str) -> str:
    return module.partition(".")[0]


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return a type without how it is held: as a dictionary, or as text of any length."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.string() if kind in _TEXTS else kind
