"""Settings: the frozen, typed class that every component is."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """A component's settings. Unknown keys are errors, values are never coerced from another type, nothing can be changed afterwards.

    >>> class Coin(Settings):
    ...     sides: int = 2
    >>> Coin(sides=3).as_component()
    {'coin': {'sides': 3}}
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    @classmethod
    def component_name(cls) -> str:
        """Return the name by which a policy calls this component: its file's name."""
        return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in cls.__name__).lstrip("_")

    def as_component(self) -> dict[str, dict[str, Any]]:
        """Return the component as a policy writes it; settings left at their defaults are left out."""
        return {self.component_name(): self.model_dump(mode="json", exclude_defaults=True)}
