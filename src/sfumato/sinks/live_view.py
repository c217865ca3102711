"""A live view: a view of the database in which the source is, through which roles always see its current rows, masked.

It is access control and no release: nothing is copied, nothing is promised, and rows that come later are masked by the same expressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

import pyarrow as pa
from pydantic import Field, model_validator

from sfumato.core.files import PolicyPath
from sfumato.core.interfaces import Source, Writer
from sfumato.core.settings import Settings
from sfumato.databases.address import Address, AddressText, parsed
from sfumato.databases.connection import Connection, connected
from sfumato.databases.password import Password
from sfumato.databases.private_names import refuse_private
from sfumato.databases.table import TableName
from sfumato.errors import UsageError
from sfumato.registry import find

Role = Annotated[str, Field(min_length=1)]


class LiveView(Settings):
    """A view of the source's own table with masked columns. For masks that the database does exactly, without keys, chance or promises."""

    takes_rows: ClassVar[bool] = False
    """Whether rows are written to it: a view has none of its own."""

    url: Annotated[AddressText, Field(description="the address of the source's database, with the same user: postgresql://keeper@host:5432/hospital")]
    table: Annotated[str, Field(min_length=1, description="what the view is called; one that an earlier run has made is replaced")]
    roles: Annotated[
        list[Role], Field(min_length=1, description="who may read it, and nobody else; of MySQL and MariaDB also users: name or name@host")
    ]
    schema_: Annotated[str | None, Field(alias="schema", min_length=1, description="the schema it goes to; the first one where none is given")] = None
    password: Annotated[Password | None, Field(description="where the password is: environment, file or command")] = None
    record: Annotated[
        PolicyPath | None, Field(description="the file that the record goes to, relative to the policy; none where it is not given")
    ] = None

    @model_validator(mode="after")
    def _is_not_private(self) -> LiveView:
        refuse_private(self.table, self.schema_ or self.address.database)
        return self

    @property
    def address(self) -> Address:
        """Where the database is, and as whom one goes there."""
        return parsed(self.url)

    @property
    def table_name(self) -> TableName:
        """What the view is called."""
        return TableName(self.table, self.schema_)

    def places(self) -> Sequence[str]:
        """Return the view."""
        return (f"live view {self.table_name} of {self.address.shown}",)

    def identity(self) -> str | None:
        """Return which view or table it is, whatever it is called; None where it is new."""
        with self.connected() as connection:
            return connection.identity(self.table_name)

    def open(self, schema: pa.Schema) -> Writer:
        """Refuse: nothing can be written to a view."""
        del schema
        raise UsageError("a live view shows rows of its source, and takes no others", code="policy-live-view", hint="sink: {sql: ...} for a copy")

    def as_source(self) -> Source:
        """Return the source that reads the view."""
        source: Source = find("sources", "sql")(url=self.url, table=self.table, schema=self.schema_, password=self.password)
        return source

    def connected(self) -> Connection:
        """Open a connection to the database."""
        return connected(self.address, None if self.password is None else self.password.text())
