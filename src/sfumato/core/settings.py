"""Settings: the frozen, typed class that every component is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from sfumato.core.mistakes import mistakes_of
from sfumato.errors import Mistake, PolicyError

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    # pydantic keeps the name of its metaclass to itself
    ModelMetaclass = type(BaseModel)


class _Refusing(ModelMetaclass):
    """Lets a class that is called with wrong settings say so as a policy would.

    Only a call from Python comes by here. Settings within settings are checked by pydantic itself, so that all mistakes are found together.
    """

    def __call__(self: Any, *given: Any, **settings: Any) -> Any:
        if given:
            names = [name for name, field in self.model_fields.items() if field.is_required()] or list(self.model_fields)[:1]
            hint = f"{self.__name__}({', '.join(f'{name}=...' for name in names)})"
            raise PolicyError([Mistake("", "settings are given by name", "policy-value", hint)], name=self.component_name())
        try:
            return super().__call__(**settings)
        except ValidationError as error:
            raise PolicyError(mistakes_of(error, self), name=self.component_name()) from None


class Settings(BaseModel, metaclass=_Refusing):
    """A component's settings. Unknown keys are errors, values are never coerced from another type, nothing can be changed afterwards.

    >>> class Coin(Settings):
    ...     sides: int = 2
    >>> Coin(sides=3).as_component()
    {'coin': {'sides': 3}}
    >>> Coin(side=3)
    Traceback (most recent call last):
    sfumato.errors.PolicyError: coin: side: unknown key [policy-unknown-key]
      try: sides
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    @classmethod
    def component_name(cls) -> str:
        """Return the name by which a policy calls this component: its file's name."""
        return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in cls.__name__).lstrip("_")

    def as_component(self) -> dict[str, dict[str, Any]]:
        """Return the component as a policy writes it; settings left at their defaults are left out."""
        return {self.component_name(): self.model_dump(mode="json", exclude_defaults=True)}
