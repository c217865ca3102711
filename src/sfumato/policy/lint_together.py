"""What several views show of one column, so that whoever has them all learns more than each of them tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sfumato.core.mask import Mask, Totals
from sfumato.core.mistakes import key_text
from sfumato.errors import Mistake
from sfumato.policy.model import Column
from sfumato.policy.resolve import Resolved

Warned = tuple[Sequence[Column], Mistake]
_LIMITS = ("k", "dominance")


def is_noise(step: Mask) -> bool:
    """Return whether chance moves numbers or dates both ways, anew in every row."""
    return step.card.perturbs and bool(step.card.types) and not step.keys


def averaged_out(views: Mapping[str, Resolved]) -> Iterator[Warned]:
    """Yield columns to which several views add noise, each its own."""
    for column in _columns(views):
        noisy = [name for name, view in views.items() if any(is_noise(step) for step in _operations(view, column))]
        if len(noisy) > 1:
            yield (
                [views[name].policy.columns[column] for name in noisy],
                Mistake(
                    key_text(("views", noisy[0], "columns", column, "mask")),
                    f"{', '.join(noisy)} each have noise of their own: whoever has several of them takes the mean, in which it averages out",
                    code="lint-noise-averages",
                    hint="noise with a key and one domain in all of them, or in one view only",
                ),
            )


def beside_chance(views: Mapping[str, Resolved]) -> Iterator[Warned]:
    """Yield columns that one view shows moved by chance, and of which another tells totals: bounds of what chance does are not held against these."""
    for column in _columns(views):
        moved = [name for name, view in views.items() if any(is_noise(step) for step in _operations(view, column))]
        adding = [
            name for name, view in views.items() if any(isinstance(step, Totals) and not step.card.perturbs for step in _operations(view, column))
        ]
        if moved and adding and {*moved, *adding} != {moved[0]}:
            yield (
                [views[name].policy.columns[column] for name in dict.fromkeys([*moved, *adding])],
                Mistake(
                    key_text(("views", moved[0], "columns", column, "mask")),
                    f"shows by chance what {', '.join(adding)} adds up: no run holds the bounds of one against the other",
                    code="lint-noise-total",
                    hint="the total or the noise, or noise that is much larger than what one person adds",
                ),
            )


def measured(views: Mapping[str, Resolved]) -> Iterator[Warned]:
    """Yield columns of which several views tell the same totals within different limits: which of them tell it says how large the largest part is."""
    for column in _columns(views):
        found: dict[str, dict[str, list[str]]] = {}
        for name, view in views.items():
            for step in _operations(view, column):
                if isinstance(step, Totals) and any(hasattr(step, limit) for limit in _LIMITS):
                    limits = {limit: getattr(step, limit, None) for limit in _LIMITS}
                    found.setdefault(repr(step.model_copy(update=dict.fromkeys(_LIMITS))), {}).setdefault(repr(limits), []).append(name)  # type: ignore[attr-defined]
        for limits_of in found.values():
            if len(limits_of) > 1:
                names = list(dict.fromkeys(name for some in limits_of.values() for name in some))
                yield (
                    [views[name].policy.columns[column] for name in names],
                    Mistake(
                        key_text(("views", names[0], "columns", column, "mask")),
                        f"{', '.join(names)} tell the same within different limits: what some tell and others do not says more than each alone",
                        code="lint-limits-differ",
                        hint="one k and one dominance in all of them",
                    ),
                )


def _columns(views: Mapping[str, Resolved]) -> list[str]:
    return list(dict.fromkeys(column for view in views.values() for column in view.masks))


def _operations(view: Resolved, column: str) -> Sequence[Mask]:
    return list(view.masks[column].operations) if column in view.masks else []
