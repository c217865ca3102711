"""Whether a run can be done inside the database in which its data are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from sfumato.core.relaxed_search import deals_out
from sfumato.core.yaml_text import yaml_text
from sfumato.databases.address import Address, Kind
from sfumato.databases.inside import Layout
from sfumato.databases.key_servers import allowed_on
from sfumato.databases.known_columns import known_columns
from sfumato.databases.located import Located, LocatedSink
from sfumato.databases.masks_there import MasksThere, needed
from sfumato.databases.policy_texts import PolicyTexts
from sfumato.databases.private_columns import MOST, private_columns
from sfumato.databases.script import script, spark_steps
from sfumato.databases.table import TableName
from sfumato.engine.plan import Plan
from sfumato.errors import nothing_to_resume
from sfumato.stores._inside import InsideStore

_OLDER = "the release is of the rows that the interrupted run had copied: what has changed in the source since then is not in it"


def inside(views: Mapping[str, Plan], resume: bool = False) -> Mapping[str, Plan]:
    """Return the plans, worked on in the database where that can be; else as they are, in this process, where nothing can be resumed."""
    reasons = [reason for plan in views.values() if (reason := not_inside(plan, len(views))) is not None]
    if reasons and resume:
        raise nothing_to_resume(f"the work is not done inside a database, because {reasons[0]}")
    if reasons:
        return views
    told = [_OLDER] if resume else []
    return {name: replace(plan, store=_store(plan, plan.source, plan.sink, resume), told=[*plan.told, *told]) for name, plan in views.items()}


def _store(plan: Plan, source: Any, sink: Any, resume: bool) -> Any:
    return InsideStore(source, sink, plan.kept, _masks(plan, sink.address), resume, deals_out(plan.resolved.algorithm))


def _masks(plan: Plan, address: Address) -> MasksThere:
    """Return the masks that a database would have to do, with the keys that the policy lets it have."""
    names = [name for name in plan.masked if name not in plan.quasi_identifiers]
    contexts = {name: (plan.resolved.masks[name], plan.context(name)) for name in names}
    return MasksThere(contexts, allowed_on(plan.resolved.policy.keys, address))


def statements(plan: Plan) -> list[str]:
    """Return what a run would let the database do, in its own language and without secrets; nothing where it is not done there."""
    if not isinstance(plan.source, Located) or not isinstance(plan.sink, LocatedSink) or not_inside(plan):
        return []
    with plan.source.connected() as connection:
        return _statements(plan, plan.source, plan.sink, connection)


def _statements(plan: Plan, source: Located, sink: LocatedSink, connection: Any) -> list[str]:
    kind, known = sink.address.kind, known_columns(connection, source)
    masks = _masks(plan, sink.address)
    computed = [each for each in masks.computed(connection, kind, known).values() if each is not None]
    if kind == "spark":
        return spark_steps(source.table_name, sink.table_name, plan.quasi_identifiers, [each.column.name for each in computed])
    subject = plan.resolved.policy.subject
    coded = dict.fromkeys([*plan.quasi_identifiers, *plan.watched, *([] if subject is None else [subject])])
    counted, kept, read = ([known[name] for name in names] for names in (coded, plan.kept, needed(computed)))
    numbered, whose = deals_out(plan.resolved.algorithm), None if subject is None else known[subject]
    layout = Layout(_placed(connection, kind, source.table_name), counted, kept, computed, read, masks.shown, subject=whose, numbered=numbered)
    texts = iter(range(2 * len(known)))
    columns = [(shown, next(texts) if name in plan.quasi_identifiers else None) for name in plan.published for shown in plan.shown_as(name)]
    return script(source, connection, layout, _placed(connection, kind, sink.table_name), columns, bool(plan.resolved.promises))


def _placed(connection: Any, kind: Kind, table: TableName) -> TableName:
    """Return the name of a table with that of its schema, where a database looks for tables in several; the statements have no other."""
    return connection.placed(table) if kind == "postgresql" else table


def _is_one_server(one: Address, other: Address) -> bool:
    """Say whether two addresses are of two databases of one server that has them as schemas, and as one user: MySQL or MariaDB."""
    return one.kind == "mysql" and one != other and replace(one, database=other.database) == other


def not_inside(plan: Plan, views: int = 1) -> str | None:
    """Return why a run is done in this process and not in the database, as a clause; None where it is done there."""
    if not isinstance(plan.source, Located) or not isinstance(plan.sink, LocatedSink):
        return "source and sink are not both tables of a database"
    if _is_one_server(plan.source.address, plan.sink.address):
        schema = plan.sink.address.database
        return f"source and sink have addresses of two databases; with the url of the source and schema: {schema} in the sink it would be done there"
    if plan.source.address != plan.sink.address:
        return "source and sink are not in one database, or not reached as one user"
    if getattr(plan.sink, "in_place", False):
        return "the table is masked in place"
    if plan.resolved.part == "table":
        return "several tables are published together"
    if views > 1:
        return "several views are made of one source"
    whose = plan.resolved.subject
    if whose is not None and not plan.quasi_identifiers:
        # the cells would be people, as many as there are, and nothing is decided about them
        return "a subject is named, and no column is generalised"
    if whose is not None and whose.is_read and pa.types.is_string(plan.schema.field(whose.name).type):
        return f"{whose.name} says whose rows are in texts of a declared type, and one person may be written in several ways"
    if getattr(plan.sink, "classes", None) is not None:
        return "equivalence classes have a table of their own"
    written = [name for name in plan.quasi_identifiers if plan.resolved.policy.columns[name].publish in ("typed_bounds", "range")]
    if written:
        return f"{', '.join(written)} {'is' if len(written) == 1 else 'are'} published in types of their own"
    if plan.nested:
        return "columns hold documents"
    most, private = MOST.get(plan.sink.address.kind), _private_columns(plan)
    if most is not None and private > most:
        return f"a private table would have {private:,} columns, and the server has room for {most:,}"
    masks = _masks(plan, plan.sink.address)
    masked = _masked_here(plan, plan.source, plan.sink, masks)
    if not masked:
        return None
    words = f"{', '.join(masked)} {'is' if len(masked) == 1 else 'are'} masked in a way that is done here"
    with_keys = replace(masks, keys=frozenset(plan.resolved.policy.keys), texts=PolicyTexts())
    if masks.keys == with_keys.keys or _masked_here(plan, plan.source, plan.sink, with_keys):
        return words
    lacking = sorted({key for name in masked for key in plan.resolved.masks[name].keys} - masks.keys)
    named = yaml_text({key: {"servers": [plan.sink.address.unowned]} for key in lacking})
    where = f"where the {'keys are' if len(lacking) > 1 else 'key is'}"
    return f"{words}, {where}; with keys: {named} the server would do it, and hold what is as good as a key"


def _private_columns(plan: Plan) -> int:
    """Return how many columns the widest private table of work inside a database would have, whatever it does of the masks."""
    masks = [plan.resolved.masks[name] for name in plan.masked if name not in plan.quasi_identifiers]
    subject = [] if plan.resolved.policy.subject is None else [plan.resolved.policy.subject]
    counted = {*plan.quasi_identifiers, *plan.watched, *subject}
    copied = {*plan.kept, *subject, *(name for mask in masks for name in (mask.column, *mask.reads))}
    shown = sum(len(plan.shown_as(name)) for name in plan.quasi_identifiers)
    return private_columns(len(counted), len(copied), shown, deals_out(plan.resolved.algorithm))


def _masked_here(plan: Plan, source: Located, sink: LocatedSink, masks: MasksThere) -> list[str]:
    """Return the masked columns that the database does not do: what it cannot do exactly or has no key for, and what promises look at."""
    if not masks.masks:
        return []
    if plan.resolved.policy.subject is not None:
        # what a mask tells of people is measured by whose the rows are, and a release does not say that
        return list(masks.masks)
    own = [name for name in masks.masks if name in plan.watched or plan.resolved.policy.columns[name].unique]
    with source.connected() as connection:
        computed = masks.computed(connection, sink.address.kind, known_columns(connection, source))
    return [name for name in masks.masks if name in own or computed[name] is None]
