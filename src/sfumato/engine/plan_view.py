"""A plan as its readers see it: what a run would do, in sentences, and every setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from sfumato.core.html import html_folded, html_list, html_table
from sfumato.core.interfaces import ReplacingSink
from sfumato.core.yaml_text import yaml_text
from sfumato.engine.explain import explain, explain_together
from sfumato.engine.in_place_checks import refuse_in_place
from sfumato.engine.inside import not_inside
from sfumato.engine.live_view import refuse_live_view
from sfumato.engine.outline import outline
from sfumato.engine.plan import AnyPolicy, make_plans
from sfumato.engine.retain import retention_steps
from sfumato.policy.load import Loaded, load
from sfumato.policy.resolve import Part
from sfumato.policy.stream_checks import is_stream
from sfumato.policy.views import resolve_views

_LONGEST = 400


@dataclass(frozen=True, eq=False)
class PlanView:
    """What a run would do, one sentence a step, and all settings, those that were left at their defaults too.

    Of a policy with views or tables each of the ``views`` has them, and ``together`` says what is done because there are several; ``part`` says
    which of both they are.
    """

    steps: list[str]
    settings: dict[str, Any]
    views: Mapping[str, PlanView] = field(default_factory=dict)
    together: list[str] = field(default_factory=list)
    part: Part = "view"

    def numbered(self) -> list[str]:
        """Return the steps, numbered."""
        return [f"{number}. {step}" for number, step in enumerate(self.steps, start=1)]

    def heading(self, name: str) -> str:
        """Return what stands above the steps of a view or a table."""
        return f"{self.part.capitalize()} {name}"

    def __str__(self) -> str:
        """Return the steps of all views."""
        parts = [line for name, view in self.views.items() for line in (f"{self.heading(name)}:", *view.numbered(), "")]
        return "\n".join([*self.numbered(), *parts, *self.together])

    def as_mapping(self) -> dict[str, Any]:
        """Return it as ``sfumato plan --format json`` prints it."""
        if self.views:
            return {f"{self.part}s": {name: view.as_mapping() for name, view in self.views.items()}, "together": self.together}
        return {"steps": self.steps, **self.settings}

    def _repr_html_(self) -> str:
        """Return steps and settings, for notebooks."""
        if self.views:
            views = (f"<h4>{escape(name)}</h4>{view._repr_html_()}" for name, view in self.views.items())
            return "".join([*views, *(f"<p>{escape(sentence)}</p>" for sentence in self.together)])
        columns = [
            (name, about["role"], ", ".join(about["published"]) or "removed", _settings(about, ("role", "published")))
            for name, about in self.settings["columns"].items()
        ]
        others = [(key, _short(value)) for key, value in self.settings.items() if key != "columns"]
        settings = html_table(columns, ("column", "role", "published as", "settings")) + html_table(others)
        return html_list(self.steps, "ol") + html_folded("all settings, those left at their defaults too", settings)


def plan(policy: AnyPolicy, data: Any = None) -> PlanView:
    """Hold a policy against the columns of its source, or of ``data``, and say what a run would do. Nothing is read but names and types."""
    loaded = load(policy)
    if data is None and is_stream(loaded.policy):
        return _of_stream(loaded)
    made = make_plans(loaded, data)
    retained = retention_steps(loaded, made)
    if not retained:
        # first: to find out what hangs on a table takes rights too
        for each in made.views.values():
            if isinstance(each.sink, ReplacingSink):
                each.sink.refuse_unwritable(not_inside(each, len(made.views)) is None)
                each.sink.refuse_used()
    refuse_in_place(made)
    refuse_live_view(made)
    views = {name: PlanView([*explain(each), *retained], outline(each)) for name, each in made.views.items()}
    return views[""] if "" in views else PlanView([], {}, views, explain_together(made), "table" if made.are_tables else "view")


def _of_stream(loaded: Loaded) -> PlanView:
    """Return the plan of a stream, of which nothing is known but what the policy says."""
    # only here: it brings in all that a session needs
    from sfumato.engine.stream.explain import explain_stream, outline_stream

    resolved = resolve_views(loaded)
    views = {name: PlanView(explain_stream(each, name), outline_stream(each, name)) for name, each in resolved.views.items()}
    together = ["Each view decides of its records by itself; what two of them tell together is not measured."] if len(views) > 1 else []
    return views[""] if "" in views else PlanView([], {}, views, together)


def _settings(about: Mapping[str, Any], told: tuple[str, ...]) -> str:
    return ", ".join(f"{key}: {_short(value)}" for key, value in about.items() if key not in told and value not in (None, []))


def _short(value: Any) -> str:
    """Return a value as a policy writes it; a long one, such as a tree, only in its beginning."""
    text = yaml_text(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
