"""The password of a database: named in a policy, never written into it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from sfumato.core.files import PolicyPath
from sfumato.core.keys import NO_KEY, KeySource


class Password(KeySource):
    """Where a password is read from when a run begins: one of a variable of the environment, a file that only its owner may read, or a command."""

    file: Annotated[PolicyPath | None, Field(min_length=1, description="the file that holds it, which nobody else may read")] = None

    _example: ClassVar[str] = "..."

    @model_validator(mode="before")
    @classmethod
    def _says_where(cls, given: Any) -> Any:
        if not isinstance(given, Mapping | cls):
            raise ValueError("says where the password is, and is not the password: {environment: NAME}, {file: path} or {command: [...]}")
        return given

    def text(self) -> str:
        """Return the password."""
        return self.secret_text(NO_KEY).strip("\r\n")
