"""The servers on which a key may be used: none, unless the policy names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, field_validator

from sfumato.core.keys import KeySource
from sfumato.databases.address import SPARK, Address, parsed


class PolicyKey(KeySource):
    """A key of a policy: where it is read from, and the databases that may compute with it.

    A server that computes pseudonyms holds meanwhile what is as good as the key: who may see its memory could undo them by trying. So a key stays
    here unless the policy names the database.
    """

    servers: Annotated[
        list[str],
        Field(description="databases that may compute with it, such as `postgresql://host/hospital`, or `spark`; from others rows come here"),
    ] = []

    @field_validator("servers")
    @classmethod
    def _are_databases(cls, value: list[str]) -> list[str]:
        for url in value:
            address = _address(url)
            if address.user or set(address.options) - {"unix_socket"}:
                raise ValueError(
                    "names a user or options: whoever connects, it is the database that is trusted; write postgresql://host:5432/hospital"
                )
        return value

    def may_be_on(self, address: Address) -> bool:
        """Return whether a database is one of those that are named."""
        return any(_address(url).place == address.place for url in self.servers)


def allowed_on(keys: Mapping[str, KeySource], address: Address) -> frozenset[str]:
    """Return the names of the keys that may be used on a server; a file of DuckDB is worked on in this process, where they are anyway."""
    if address.kind == "duckdb":
        return frozenset(keys)
    return frozenset(name for name, key in keys.items() if isinstance(key, PolicyKey) and key.may_be_on(address))


def _address(url: str) -> Address:
    return SPARK if url == "spark" else parsed(url)
