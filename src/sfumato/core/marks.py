"""The marks of delimited text: what separates, quotes and escapes."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field


def _one_byte(value: str) -> str:
    if not value.isascii() or value in "\r\n\0":
        raise ValueError("must be one ASCII character that does not end a line")
    return value


Mark = Annotated[str, Field(min_length=1, max_length=1), AfterValidator(_one_byte)]
"""One ASCII character that does not end a line."""
