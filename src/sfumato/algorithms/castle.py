"""CASTLE: records of a stream wait in clusters, and leave when their cluster keeps the promises, or a cluster that did before can take them.

Cao, Carminati, Ferrari, Tan, "CASTLE: continuously anonymizing data streams" (2011).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sfumato.core.settings import Settings


class Castle(Settings):
    """Clusters of a stream, without windows: a record leaves at the latest when ``delta`` others have come after it."""

    delta: Annotated[int, Field(ge=1, description="how many records may come after one before it must leave")] = 10_000
    beta: Annotated[int, Field(ge=1, description="the most clusters that records wait in")] = 50
    mu: Annotated[int, Field(ge=1, description="how many of the last published clusters say what loss is usual: up to that a cluster may grow")] = 100
    reusable: Annotated[int, Field(ge=0, description="how many published clusters are kept, for records that lie within them")] = 64
    outliers: Annotated[
        Literal["suppress", "wait"],
        Field(
            description="suppress: who fits nowhere is left out; wait: in a cluster that publishes every column as its root, beyond delta if need be"
        ),
    ] = "suppress"
    horizon: Annotated[
        int | None, Field(ge=1, description="how many of the latest records t-closeness compares a cluster with; delta where it is not given")
    ] = None
