from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.mask import MaskContext
from sfumato.errors import PolicyError
from sfumato.masking.url_mask import UrlMask


def masked(values: list[Any], **settings: Any) -> list[str | None]:
    batch = pa.RecordBatch.from_pydict({"value": values})
    found: list[str | None] = UrlMask(**settings).apply(batch, MaskContext("value")).to_pylist()
    return found


@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        ("https://example.org", "https://example.org"),
        ("https://example.org/", "https://example.org/"),
        ("https://example.org/people/ada?id=7#top", "https://example.org/***"),
        ("https://example.org?id=7", "https://example.org/***"),
        ("https://example.org#ada", "https://example.org/***"),
        ("https://ada:secret@example.org", "https://***@example.org"),
        ("https://ada@home@example.org/x", "https://***@example.org/***"),
        ("https://@example.org/", "https://***@example.org/"),
        ("ftp://example.org:2121/ada", "ftp://example.org:2121/***"),
        ("http://[2001:db8::1]:80/ada", "http://[2001:db8::1]:80/***"),
        ("http://例え.jp/人", "http://例え.jp/***"),
        ("http://example.org/one\ntwo", "http://example.org/***"),
        ("http://example.org/ada@home", "http://example.org/***"),
    ],
)
def test_scheme_and_port_stay_and_the_host_on_request(address: str, wanted: str) -> None:
    assert masked([address], keep_host=True) == [wanted]


def test_the_host_is_masked_unless_it_is_to_stay() -> None:
    assert masked(["https://ada@ada-lovelace.org:80/x"], character="#") == ["https://###@###:80/###"]


def test_the_card_says_whether_the_host_stays() -> None:
    assert UrlMask().card.reveals == "Scheme and port and whether there was a user and whether anything followed the host."
    assert UrlMask(keep_host=True).card.reveals == (
        "Scheme and port, the host, which may be somebody's own, and whether there was a user and whether anything followed the host."
    )


def test_the_length_of_a_path_is_not_seen() -> None:
    assert masked(["https://example.org/" + "x" * 100_000]) == ["https://***/***"]


@pytest.mark.parametrize(
    "value", ["", "example.org/ada", "mailto:ada@example.org", "http://", "http:///ada", "file:///home/ada", "http://a b/", "http://a\\@b/", "ada"]
)
def test_what_has_no_scheme_and_host_cannot_be_taken(value: str) -> None:
    assert masked(["http://a.b", value, "http://a.b"]) == ["http://***", None, "http://***"]


def test_a_mask_of_two_characters_is_refused() -> None:
    with pytest.raises(PolicyError) as raised:
        UrlMask(character="**")
    assert str(raised.value) == "url_mask: character: must be one character that can be printed [policy-value]"
