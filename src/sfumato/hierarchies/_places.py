"""Places on the globe, written as latitude and longitude in degrees."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.globe import on_the_globe

_PLACE = r"^\(?(?P<latitude>[+-]?[0-9]{1,2}(?:\.[0-9]+)?) ?[,; ] ?(?P<longitude>[+-]?[0-9]{1,3}(?:\.[0-9]+)?)\)?$"
_NUMBER = r"^[+-]?[0-9]{1,3}(?:\.[0-9]+)?$"


def are_places(texts: pa.Array) -> bool:
    """Return whether every text is a place."""
    if not pc.all(pc.match_substring_regex(texts, _PLACE)).as_py():
        return False
    return bool(on_the_globe(coordinates(texts, "place")).all())


def coordinates(texts: pa.Array, holds: str) -> dict[str, NDArray[np.float64]]:
    """Return the coordinates of each text; what is no number is no number here either."""
    if holds != "place":
        return {holds: _numbers(pc.if_else(pc.match_substring_regex(texts, _NUMBER), texts, pa.scalar(None, pa.string())))}
    parts = pc.extract_regex(texts, _PLACE)
    return {name: _numbers(pc.struct_field(parts, name)) for name in ("latitude", "longitude")}


def _numbers(texts: pa.Array) -> NDArray[np.float64]:
    plain = pc.replace_substring_regex(texts, r"^\+", "")
    numbers: NDArray[np.float64] = pc.cast(plain, pa.float64()).to_numpy(zero_copy_only=False)
    return numbers
