"""Which domains the users of an invented network ask for.

Shaped like the traffic of a monitored network in the literature (Bacconi, "Privacy enforcing framework in high dimensional data streams", 2021,
chapter 3): 7,809 users who come all day long, each more than a thousand times, 27,482 domains of 83 categories with one level above them, some of
which nearly everybody asks for.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.generators._happenings import DAY, Happenings, borders_of, drawn, moments, ranked
from sfumato.generators._rows import Codes

USERS, DOMAINS, CATEGORIES = 7_809, 27_482, 83
_A_SECOND = 64.0
_ENDINGS = ("com", "org", "net", "co.nz", "com.br", "it", "de")


class Domains(Happenings):
    """Requests: when, from whom, and the domain below its category, ``search*example.org``. Cost: about a second for a million rows.

    >>> Domains().table(2, seed=1).column_names
    ['at', 'user', 'domain']
    """

    def chunk(self, random: np.random.Generator, numbers: Codes) -> dict[str, pa.Array]:
        """Return the columns of one chunk."""
        users, borders, paths = _network()
        user = drawn(random, users, len(numbers))
        domain = drawn(random, borders, len(numbers))
        # everybody has some domains of their own, to which they come back
        own = random.random(len(numbers)) < 0.08
        favourite = (user * 7_919 + random.integers(0, 12, len(numbers)) * 104_729) % DOMAINS
        domain = np.where(own, (favourite * favourite // DOMAINS) % DOMAINS, domain)
        return {"at": moments(random, numbers, _A_SECOND, DAY), "user": _addresses(user), "domain": paths.take(pa.array(domain))}


def _addresses(user: Codes) -> pa.Array:
    """Return addresses of a network that is set aside for examples (RFC 2544)."""
    table = pa.array([f"198.{18 + number // 65_536}.{number // 256 % 256}.{number % 256}" for number in range(USERS)])
    return table.take(pa.array(user))


@cache
def _network() -> tuple[NDArray[np.float64], NDArray[np.float64], pa.Array]:
    """Return the borders of the weights of users and of domains, and the paths of domains."""
    random = np.random.default_rng(DOMAINS)
    category_of = random.choice(CATEGORIES, DOMAINS, p=ranked(CATEGORIES, 1.1, 1.0) / ranked(CATEGORIES, 1.1, 1.0).sum())
    names = pa.array([f"site{number:05}.{_ENDINGS[number % len(_ENDINGS)]}" for number in random.permutation(DOMAINS).tolist()])
    paths = pc.binary_join_element_wise(pa.array([f"category_{number:02}" for number in range(CATEGORIES)]).take(pa.array(category_of)), names, "*")
    users = random.lognormal(0.0, 0.9, USERS)
    return borders_of(users), borders_of(ranked(DOMAINS, 1.6, 8.0)), paths
