"""Where the vehicles of an invented country are.

Shaped like the positions of private vehicles in the literature (Bacconi, "Privacy enforcing framework in high dimensional data streams", 2021,
chapter 3): 23,500 vehicles with some 76 positions each, 77,028 streets in 1,308 towns, 77 provinces, 23 regions and 6 countries, nearly all of them
in one region, with the rush hours of working days.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.generators._happenings import RUSH, Happenings, borders_of, drawn, moments, ranked
from sfumato.generators._rows import Codes

VEHICLES, STREETS, TOWNS, PROVINCES, REGIONS, COUNTRIES = 23_500, 77_028, 1_308, 77, 23, 6
_A_SECOND = 4.2


class _Map(NamedTuple):
    towns: NDArray[np.float64]
    first_street: Codes
    streets: Codes
    paths: pa.Array
    latitude: NDArray[np.float64]
    longitude: NDArray[np.float64]


class Positions(Happenings):
    """Positions: when, which device, where, and the address from country to street. Cost: about a second for a million rows.

    >>> Positions().table(2, seed=1).column_names
    ['at', 'device', 'latitude', 'longitude', 'address']
    """

    def chunk(self, random: np.random.Generator, numbers: Codes) -> dict[str, pa.Array]:
        """Return the columns of one chunk."""
        map_ = _map()
        device = random.integers(0, VEHICLES, len(numbers))
        # most of the time somebody drives about in the town they live in
        home = np.minimum(np.searchsorted(map_.towns, (device * 0.618_033_988_749) % 1.0, side="right"), TOWNS - 1)
        town = np.where(random.random(len(numbers)) < 0.6, home, drawn(random, map_.towns, len(numbers)))
        # a few streets of a town carry most of its traffic
        place = (map_.streets[town] * random.random(len(numbers)) ** 7).astype(np.int64)
        street = map_.first_street[town] + place
        latitude, longitude = (axis[street] + random.normal(0.0, 0.002, len(numbers)) for axis in (map_.latitude, map_.longitude))
        return {
            "at": moments(random, numbers, _A_SECOND, RUSH),
            "device": pa.array(device + 1),
            "latitude": pa.array(np.round(latitude, 6)),
            "longitude": pa.array(np.round(longitude, 6)),
            "address": map_.paths.take(pa.array(street)),
        }


@cache
def _map() -> _Map:
    random = np.random.default_rng(STREETS)
    country_of = np.sort(np.append(np.zeros(REGIONS - COUNTRIES, np.int64), np.arange(COUNTRIES)))
    region_of = np.sort(np.append(random.choice(REGIONS, PROVINCES - REGIONS, p=_shares(REGIONS, 1.0)), np.arange(REGIONS)))
    # towns are in the order of their size, and the largest provinces have the largest of them
    province_of = np.append(
        np.zeros(1, np.int64), np.append(np.arange(1, PROVINCES), random.choice(PROVINCES, TOWNS - PROVINCES, p=_shares(PROVINCES, 1.3)))
    )
    weights = ranked(TOWNS, 1.15, 1.0)
    streets = np.maximum(1, np.floor(weights / weights.sum() * STREETS * 0.9)).astype(np.int64)
    streets[: STREETS - streets.sum()] += 1 if STREETS - streets.sum() < TOWNS else 0
    streets[0] += STREETS - streets.sum()
    town_of = np.repeat(np.arange(TOWNS), streets)
    province, region = province_of[town_of], region_of[province_of[town_of]]
    parts = [
        pa.array([f"COUNTRY {number}" for number in range(COUNTRIES)]).take(pa.array(country_of[region])),
        pa.array([f"REGION {number:02}" for number in range(REGIONS)]).take(pa.array(region)),
        pa.array([f"P{number:02}" for number in range(PROVINCES)]).take(pa.array(province)),
        pa.array([f"TOWN {number:04}" for number in range(TOWNS)]).take(pa.array(town_of)),
        pa.array([f"STREET {number:05}" for number in range(STREETS)]),
    ]
    middle = np.stack([45.0 + random.normal(0.0, 0.9, PROVINCES), 7.8 + random.normal(0.0, 1.2, PROVINCES)])
    towns = middle[:, province_of] + random.normal(0.0, 0.18, (2, TOWNS))
    places = towns[:, town_of] + random.normal(0.0, 0.02, (2, STREETS))
    first_street = np.cumsum(streets) - streets
    return _Map(borders_of(weights), first_street, streets, pc.binary_join_element_wise(*parts, "*"), places[0], places[1])


def _shares(number: int, exponent: float) -> NDArray[np.float64]:
    weights = ranked(number, exponent, 0.0)
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares
