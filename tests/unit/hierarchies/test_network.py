from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.core import canonical
from sfumato.core.hierarchy import Hierarchy
from sfumato.errors import DataError, PolicyError
from sfumato.hierarchies.network import Network


def built(texts: list[str], **settings: object) -> Hierarchy:
    return Network(**settings).build("client", canonical.parse(pa.array(texts), "ip"), np.ones(len(texts), np.int64))


def test_addresses_are_in_the_order_of_their_numbers_and_families_apart() -> None:
    assert built(["9.0.0.1", "10.0.0.1", "2.0.0.1", "::1", "200.0.0.1"]).leaves.to_pylist() == ["2.0.0.1", "9.0.0.1", "10.0.0.1", "200.0.0.1", "::1"]


def test_networks_nest_in_both_families() -> None:
    ladder = built(["192.168.1.77", "192.168.2.1", "2001:db8:1:2::5", "2001:db8:1:3::5"], ipv4=[24, 16], ipv6=[64, 48, 32])

    assert [level.labels for level in ladder.levels] == [
        ("192.168.1.0/24", "192.168.2.0/24", "2001:db8:1:2::/64", "2001:db8:1:3::/64"),
        ("192.168.0.0/16", "2001:db8:1::/48"),
        ("192.168.0.0/16", "2001:db8::/32"),
        ("*",),
    ]


def test_borders_need_not_lie_between_bytes() -> None:
    assert built(["10.0.0.127", "10.0.0.128"], ipv4=[25, 23]).levels[0].labels == ("10.0.0.0/25", "10.0.0.128/25")
    assert built(["10.0.1.1", "10.0.2.1"], ipv4=[23]).levels[0].labels == ("10.0.0.0/23", "10.0.2.0/23")


def test_one_address_has_one_form() -> None:
    assert canonical.parse(pa.array(["2001:0DB8::0001", "::ffff:10.0.0.1", "10.0.0.1"]), "ip").to_pylist() == ["2001:db8::1", "10.0.0.1", "10.0.0.1"]
    assert canonical.infer(pa.array(["10.0.0.1", "fe80::1", None])) == "ip"


@pytest.mark.parametrize("text", ["10.0.0.256", "10.0.0", "010.0.0.1", "10.0.0.1/8", "fe80::1%eth0", "1:2", "::ffff:10.0.0.300", "", "\0"])
def test_what_is_no_address_is_none(text: str) -> None:
    assert canonical.parse(pa.array([text]), "ip").to_pylist() == [None]
    assert canonical.infer(pa.array(["10.0.0.1", text])) == "text"


@pytest.mark.parametrize("settings", [{"ipv4": [16, 24]}, {"ipv4": [33]}, {"ipv6": [129]}, {"ipv4": [8, 0]}, {"ipv6": []}], ids=str)
def test_lengths_that_do_not_fall_or_fit_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(PolicyError):
        Network(**settings)


def test_a_column_of_words_has_no_networks() -> None:
    with pytest.raises(DataError) as caught:
        Network().build("name", pa.array(["Ada"]), np.ones(1, np.int64))

    assert caught.value.code == "hierarchy-type"
