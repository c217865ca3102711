"""What stands against a live view, by the policy and the catalogue, before anything is made: what no expression of a view could keep."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from sfumato.core.mask import WIDE
from sfumato.core.masked_column import MaskedColumn
from sfumato.core.mistakes import key_text
from sfumato.core.nested_types import refuse_unreadable
from sfumato.databases.engines import engine_of
from sfumato.databases.known_columns import known_columns
from sfumato.databases.live_view import Definition, ShownColumn, kept_column, masked_column
from sfumato.databases.located import Located
from sfumato.databases.table import TableName
from sfumato.engine.plan import Plan, Plans
from sfumato.errors import Mistake, PolicyError
from sfumato.policy.checks import NO_PROMISE_OF_A_VIEW, PROMISE_OF_A_VIEW
from sfumato.sinks.live_view import LiveView

_COPY = "publish a copy, sink: {sql: ...}"
_SERVERS = ("postgresql", "mysql")


def live_view_asked(plans: Plans) -> LiveView | None:
    """Return the sink of a policy that makes a live view, and refuse one that the policy itself stands against; None where there is none."""
    found = [plan for plan in plans.views.values() if isinstance(plan.sink, LiveView)]
    if not found:
        return None
    plan = found[0]
    mistakes = [*_of_the_policy(plan, len(plans.views)), *(mistake for name in plan.masked for mistake in _of_a_mask(plan, name))]
    if mistakes:
        raise PolicyError(mistakes, name=plan.resolved.name)
    return plan.sink if isinstance(plan.sink, LiveView) else None


def _of_the_policy(plan: Plan, views: int) -> Iterator[Mistake]:
    """Yield what a view cannot be, whatever its columns are."""
    policy, source, sink = plan.resolved.policy, plan.source, plan.sink
    if views > 1 or plan.view:
        yield _mistake(plan, ("sink",), "a live view is the one release of its policy, and this one has several", "a policy of its own for each")
    if not isinstance(source, Located) or not isinstance(sink, LiveView) or sink.address.kind not in _SERVERS:
        words = "a live view shows a table of PostgreSQL, MariaDB or MySQL, read as it is there, and the source is none"
        yield _mistake(plan, ("source",), words, f"source: {{sql: ...}}, without formats; or {_COPY}")
    elif source.address != sink.address:
        words = "a live view is in the database of its source, made by the user who reads that, and the two are not the same"
        yield _mistake(plan, ("sink",), words, f"the url of the source; or {_COPY}")
    if plan.resolved.promises:
        yield _mistake(plan, ("promises",), PROMISE_OF_A_VIEW, NO_PROMISE_OF_A_VIEW)
    for name in plan.quasi_identifiers:
        words = "a quasi_identifier is generalised by what other rows hold, and those of a live view change"
        yield _mistake(plan, ("columns", name), words, f"role: other with a mask such as generalise or shorten; or {_COPY}")
    for key, given in (("subject", policy.subject), ("retention", policy.retention)):
        if given is not None:
            yield _mistake(plan, (key,), f"{key} is for a release of rows, and a live view has none of its own", f"leave it out, or {_COPY}")
    for name in plan.nested:
        if name in plan.published:
            yield _mistake(plan, ("columns", name), "holds documents, which no view masks", _COPY)


def _of_a_mask(plan: Plan, name: str) -> Iterator[Mistake]:
    """Yield why a mask is none that a view can do, as far as its card says."""
    mask = plan.resolved.masks[name]
    words = _not_live(mask)
    if words is None and (plan.resolved.policy.columns[name].unique or name in plan.laddered):
        words = "must look at all rows, and those of a live view change"
    if words is not None:
        yield _mistake(
            plan, ("columns", name, "mask"), words, f"a mask without key and chance, such as shorten, character_mask or constant; or {_COPY}"
        )


def _not_live(mask: MaskedColumn) -> str | None:
    if mask.keys:
        return "needs a key, and who may read a view can read how it is made"
    if not mask.card.deterministic:
        return "makes something else of a value every time, so that whoever reads the view often finds out what is behind it"
    return "looks at other rows, and those of a live view change" if mask.card.scope in WIDE else None


def definition_of(plan: Plan, source: Located, sink: LiveView, connection: Any) -> Definition:
    """Return the view as expressions; refuse columns whose masks the server does not do exactly."""
    refuse_unreadable(plan.schema, plan.published, str(source.table_name))
    known = known_columns(connection, source)
    engine = engine_of(connection, sink.address.kind)
    shown: list[ShownColumn] = []
    mistakes: list[Mistake] = []
    for name in plan.published:
        if name not in plan.masked:
            shown.append(kept_column(known[name]))
            continue
        made = masked_column(plan.resolved.masks[name], plan.context(name), known, engine)
        if isinstance(made, str):
            mistakes.append(_mistake(plan, ("columns", name, "mask"), made, f"another mask, such as shorten or character_mask; or {_COPY}"))
        else:
            shown.append(made)
    if mistakes:
        raise PolicyError(mistakes, name=plan.resolved.name)
    return Definition(sink.table_name, source.table_name, shown)


def refuse_computed(plan: Plan, definition: Definition, stored: Collection[str]) -> None:
    """Refuse masks that read what a view or a virtual column computes: a reader's session could have it compute something else."""
    read = [(shown.column.name, column.name) for shown in definition.masked for column in shown.reads if column.name not in stored]
    words = "is made of {}, which is not known to be stored in a table as it is read, so that settings of whoever reads the view could change it"
    hint = f"a table itself as the source, or a view that only names its columns (which GRANT SHOW VIEW shows to the user); or {_COPY}"
    if read:
        raise PolicyError([_mistake(plan, ("columns", name, "mask"), words.format(of), hint) for name, of in read], name=plan.resolved.name)


def refuse_invokers(plan: Plan, views: Sequence[TableName]) -> None:
    """Refuse views that let their readers read nothing that these may not read themselves: roles of the live view could not read it."""
    if views:
        words = f"{', '.join(map(str, views))} has the option security_invoker, so that who reads the live view would need rights to what is beneath"
        hint = f"name the table itself, or a view without the option (ALTER VIEW ... RESET (security_invoker)); or {_COPY}"
        raise PolicyError([_mistake(plan, ("source",), words, hint)], name=plan.resolved.name)


def _mistake(plan: Plan, path: tuple[str, ...], words: str, hint: str) -> Mistake:
    return Mistake(key_text(path), words, "policy-live-view", hint, plan.resolved.lines.at(path))
