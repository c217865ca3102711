"""Microaggregation: people who are alike are put into groups of k, and a group is published as one.

Domingo-Ferrer, Torra, "Ordinal, continuous and heterogeneous k-anonymity through microaggregation" (2005): MDAV.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sfumato.core.settings import Settings


class Microaggregation(Settings):
    """Groups of the people of a window that are as alike as they can be."""

    publish: Annotated[
        Literal["box", "mean"],
        Field(description="box: the interval from the smallest to the largest number of a group; mean: the mean of its people's"),
    ] = "box"
    dominance: Annotated[float, Field(gt=0, le=1, description="the largest part of a mean that one person may make up")] = 0.5
    block: Annotated[int, Field(ge=100, description="windows of more people are first cut into blocks of at most so many")] = 2000
