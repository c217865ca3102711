"""Expression: the way out for what no other operation does, an expression of SQL over the columns of a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

from sfumato.core.canonical import ValueType
from sfumato.core.mask import Card, MaskContext, Operation
from sfumato.errors import DataError
from sfumato.masking._row_expressions import closed_connection, named_columns, refuse_more_than_a_row, what_changes

if TYPE_CHECKING:
    import duckdb

_DIGITS = 38


class Expression(Operation):
    """Computes a value from the row by an expression of DuckDB: ``upper(left(name, 1)) || '.'``.

    The column goes by its own name, others must be named in ``columns``. All are text where the source is, as in delimited files, whatever their
    values look like: ``score::int + 1`` makes a number of one. Nothing can be read or written from it:
    no files, no other tables, no network. An expression sees one row: aggregates, windows, subqueries, ``unnest`` and stars are refused with the
    policy, and so is what asks for the database itself, such as ``version()``. Instants are in UTC, wherever the machine is. A value for which it
    cannot be computed, such as a text that is to be a number, is one that it cannot take; where chance is in it, as with ``random()``, such a value
    stops the run. ``repeat``, ``lpad``, ``range`` and the like make at most 10,000 parts a row. Say ``same_again: true`` only where it always gives
    the same for the same row; with ``random()`` or ``today()`` in it that is refused.
    """

    sql: Annotated[str, Field(min_length=1, max_length=10_000, description="the expression")]
    columns: Annotated[list[str], Field(description="other columns that it names")] = []
    same_again: Annotated[bool, Field(description="whether the same row always gives the same value")] = False

    @field_validator("sql")
    @classmethod
    def _is_expression(cls, value: str) -> str:
        refuse_more_than_a_row(value)
        return value

    @model_validator(mode="after")
    def _is_the_same_again(self) -> Self:
        changing = what_changes(self.sql) if self.same_again else None
        if changing is not None:
            raise ValueError(f"same_again, but another run may give something else by {changing}; leave same_again out")
        return self

    @property
    def card(self) -> Card:
        """What it does hangs on the expression."""
        return Card(
            deterministic=self.same_again,
            uniqueness="lossy" if not self.same_again else "not guaranteed",
            changes_type=True,
            scope="row" if self.columns else "value",
            in_part=True,
            empties=True,
            reveals="Whatever the expression lets through: nobody but its author knows.",
        )

    @property
    def unrepeatable(self) -> str | None:
        """Chance and the clock within an expression are those of the database that computes it."""
        return None if self.same_again else "what it gives may differ from run to run; say same_again: true where it does not"

    @property
    def reads(self) -> Sequence[str]:
        """The other columns."""
        return self.columns

    def unread(self, column: str) -> Sequence[str]:
        """Return the columns that the expression of a column names and is not given; the database does not mind capitals."""
        given = {name.lower() for name in ("rows", column, *self.columns)}
        return [name for name in named_columns(self.sql) if name.lower() not in given]

    def leaves_out(self, column: str) -> bool:
        """Return whether it does not name the column itself, nor the whole row; the database does not mind capitals."""
        return not {column.lower(), "rows"} & {name.lower() for name in named_columns(self.sql)}

    @property
    def warnings(self) -> Sequence[str]:
        """Nobody has looked at the expression."""
        return ["an expression lets through what its author lets through; nothing is known of it here"]

    def misfit(self, kind: pa.DataType, declared: ValueType | None) -> str | None:
        """Return nothing: whether the expression fits is known where the types of all its columns are."""
        del kind, declared
        return None

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the value of the expression as text; a missing one where it has none or cannot be computed."""
        return self.apply_or_refuse(columns, context)[0]

    def apply_or_refuse(self, columns: pa.RecordBatch, context: MaskContext) -> tuple[pa.Array, NDArray[np.bool_]]:
        """Return the value of the expression as text, and the rows for which it cannot be computed."""
        import duckdb

        table = pa.Table.from_batches([columns.select(list(dict.fromkeys([context.column, *self.columns])))])
        with closed_connection() as connection:
            try:
                connection.register("rows", _narrowed(table))
                found = self._computed(connection)
            except (duckdb.Error, pa.ArrowInvalid):
                # its own words may quote a value
                raise _not_computed(context.column) from None
        if found.num_rows != columns.num_rows:
            raise _not_computed(context.column)
        chunks = found.column("value").chunks
        values = pa.concat_arrays(chunks).cast(pa.string()) if chunks else pa.array([], pa.string())
        return values, found.column("wrong").to_numpy()

    def _computed(self, connection: duckdb.DuckDBPyConnection) -> pa.Table:
        """Return the values; where one of them cannot be computed each is tried, which takes longer, and is not done where chance is in them."""
        import duckdb

        value = f"CAST(({self.sql}\n) AS VARCHAR)"
        try:
            return connection.sql(f"SELECT {value} AS value, false AS wrong FROM rows").to_arrow_table()  # noqa: S608 - the policy's own
        except (duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.InvalidInputException):
            # a value may be missing on purpose: what cannot be computed is a missing structure
            tried = f"SELECT TRY(struct_pack(found := {value})) AS one FROM rows"  # noqa: S608 - the policy's own
            return connection.sql(f"SELECT one.found AS value, one IS NULL AS wrong FROM ({tried})").to_arrow_table()  # noqa: S608 - as above


def _narrowed(table: pa.Table) -> pa.Table:
    """Return columns as DuckDB takes them: decimals of at most 38 digits."""
    wide = [field.name for field in table.schema if pa.types.is_decimal256(field.type) and field.type.scale <= _DIGITS]
    fields = [pa.field(field.name, pa.decimal128(_DIGITS, field.type.scale)) if field.name in wide else field for field in table.schema]
    return table.cast(pa.schema(fields))


def _not_computed(column: str) -> DataError:
    return DataError(
        f"column {column}: the expression of its mask cannot be computed",
        code="mask-expression",
        hint="look at the types of its columns: what a delimited file holds is text, and score::int a number; one with chance in it must fit every "
        "row: TRY_CAST, or CASE WHEN",
    )
