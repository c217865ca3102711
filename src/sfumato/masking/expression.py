"""Expression: the way out for what no other operation does, an expression of SQL over the columns of a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import pyarrow as pa
from pydantic import Field, field_validator

from sfumato.core.canonical import ValueType
from sfumato.core.mask import Card, MaskContext, Operation
from sfumato.errors import DataError
from sfumato.masking._row_expressions import closed_connection, refuse_more_than_a_row

_DIGITS = 38


class Expression(Operation):
    """Computes a value from the row by an expression of DuckDB: ``upper(left(name, 1)) || '.'``.

    The column goes by its own name, others must be named in ``columns``; all are text where the source is. Nothing can be read or written from it:
    no files, no other tables, no network. An expression sees one row: aggregates, windows, subqueries, ``unnest`` and stars are refused with the
    policy. Say ``same_again: true`` only where it always gives the same for the same row.
    """

    sql: Annotated[str, Field(min_length=1, max_length=10_000, description="the expression")]
    columns: Annotated[list[str], Field(description="other columns that it names")] = []
    same_again: Annotated[bool, Field(description="whether the same row always gives the same value")] = False

    @field_validator("sql")
    @classmethod
    def _is_expression(cls, value: str) -> str:
        refuse_more_than_a_row(value)
        return value

    @property
    def card(self) -> Card:
        """What it does hangs on the expression."""
        return Card(
            deterministic=self.same_again,
            reversible=False,
            uniqueness="lossy" if not self.same_again else "not guaranteed",
            changes_type=True,
            nulls="kept",
            scope="row" if self.columns else "value",
            empties=True,
            reveals="Whatever the expression lets through: nobody but its author knows.",
        )

    @property
    def reads(self) -> Sequence[str]:
        """The other columns."""
        return self.columns

    @property
    def warnings(self) -> Sequence[str]:
        """Nobody has looked at the expression."""
        return ["an expression lets through what its author lets through; nothing is known of it here"]

    def misfit(self, kind: pa.DataType, declared: ValueType | None) -> str | None:
        """Return nothing: whether the expression fits is known where the types of all its columns are."""
        del kind, declared
        return None

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the value of the expression as text; a missing one where it has none."""
        import duckdb

        table = pa.Table.from_batches([columns.select(list(dict.fromkeys([context.column, *self.columns])))])
        with closed_connection() as connection:
            try:
                connection.register("rows", _narrowed(table))
                found = connection.sql(f"SELECT CAST(({self.sql}\n) AS VARCHAR) AS value FROM rows").to_arrow_table()  # noqa: S608 - the policy's own
            except (duckdb.Error, pa.ArrowInvalid):
                # its own words may quote a value
                raise _not_computed(context.column) from None
        if found.num_rows != columns.num_rows:
            raise _not_computed(context.column)
        chunks = found.column("value").chunks
        return pa.concat_arrays(chunks).cast(pa.string()) if chunks else pa.array([], pa.string())


def _narrowed(table: pa.Table) -> pa.Table:
    """Return columns as DuckDB takes them: decimals of at most 38 digits."""
    wide = [field.name for field in table.schema if pa.types.is_decimal256(field.type) and field.type.scale <= _DIGITS]
    fields = [pa.field(field.name, pa.decimal128(_DIGITS, field.type.scale)) if field.name in wide else field for field in table.schema]
    return table.cast(pa.schema(fields))


def _not_computed(column: str) -> DataError:
    return DataError(
        f"column {column}: the expression of its mask cannot be computed",
        code="mask-expression",
        hint="look at the names and types of its columns; texts that may be no numbers need TRY_CAST, and an expression sees one row",
    )
