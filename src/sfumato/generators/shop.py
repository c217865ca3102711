"""What visitors of an invented shop look at.

Shaped like a shop with many categories of the literature (Bacconi, "Privacy enforcing framework in high dimensional data streams", 2021, chapter
3): many visitors who look at a few products and do not come back, 121,903 products in 453 categories of 31 groups and 12 departments, a few
products that everybody looks at. A path has two to four parts, as not all departments have groups.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.generators._happenings import EVENING, Happenings, borders_of, drawn, moments, ranked
from sfumato.generators._rows import Codes

PRODUCTS, CATEGORIES, GROUPS, DEPARTMENTS = 121_903, 453, 31, 12
_A_SECOND = 13.9
_A_VISITOR = 7.3
_BEFORE_THE_FIRST = 1_000_000
_NAMES = (
    "electronics",
    "appliances",
    "computers",
    "apparel",
    "furniture",
    "auto",
    "construction",
    "kids",
    "accessories",
    "sport",
    "medicine",
    "stationery",
)


class Shop(Happenings):
    """Visits of a shop: when, who, and the path of the product. Cost: about a second for a million rows.

    >>> Shop().table(2, seed=1).column_names
    ['at', 'user', 'product']
    """

    def chunk(self, random: np.random.Generator, numbers: Codes) -> dict[str, pa.Array]:
        """Return the columns of one chunk."""
        borders, paths = _products()
        user = _visitors(random, numbers)
        product = drawn(random, borders, len(numbers))
        # who has looked at a category looks at it again: half of the time at something of the same fifth of the shop
        same = random.random(len(numbers)) < 0.5
        product = np.where(same, (product // 5) * 5 + user % 5, product) % PRODUCTS
        return {
            "at": moments(random, numbers, _A_SECOND, EVENING),
            "user": pa.array(user),
            "product": paths.take(pa.array(product)),
        }


def _visitors(random: np.random.Generator, numbers: Codes) -> Codes:
    """Return who comes: most within some minutes of their first visit, some a day later, each a few times."""
    later = random.exponential(4_000.0, len(numbers)) + np.where(random.random(len(numbers)) < 0.06, random.exponential(700_000.0, len(numbers)), 0.0)
    visitor: Codes = np.floor((numbers - later) / _A_VISITOR).astype(np.int64) + _BEFORE_THE_FIRST
    return np.maximum(visitor, 0)


@cache
def _products() -> tuple[NDArray[np.float64], pa.Array]:
    """Return the borders of the products' weights, and their paths."""
    random = np.random.default_rng(PRODUCTS)
    department_of = np.sort(random.choice(DEPARTMENTS, GROUPS, p=ranked(DEPARTMENTS, 0.8, 1.0) / ranked(DEPARTMENTS, 0.8, 1.0).sum()))
    group_of = random.choice(GROUPS, CATEGORIES, p=ranked(GROUPS, 0.7, 2.0) / ranked(GROUPS, 0.7, 2.0).sum())
    category_of = random.choice(CATEGORIES, PRODUCTS, p=ranked(CATEGORIES, 1.0, 3.0) / ranked(CATEGORIES, 1.0, 3.0).sum())
    parts = random.choice([1, 2, 3], CATEGORIES, p=[0.05, 0.45, 0.5])
    names = []
    for category in range(CATEGORIES):
        group = int(group_of[category])
        whole = [_NAMES[department_of[group]], f"group_{group:02}", f"category_{category:03}"]
        names.append(".".join([[whole[2]], [whole[0], whole[2]], whole][parts[category] - 1]))
    paths = pc.binary_join_element_wise(
        pa.array(names).take(pa.array(category_of)), pa.array(1_000_000 + random.permutation(PRODUCTS) * 7).cast(pa.string()), "."
    )
    return borders_of(ranked(PRODUCTS, 1.0, 15.0)), paths
