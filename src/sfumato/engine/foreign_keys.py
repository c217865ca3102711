"""Foreign keys: what the tables of a policy refer to by, and whether it can still be joined by when it is released."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING

from sfumato.core.mistakes import key_text
from sfumato.core.yaml_text import yaml_text
from sfumato.databases.connection import Catalogue, Connection
from sfumato.databases.located import Located
from sfumato.databases.table import ForeignKey, TableName
from sfumato.engine.in_view import in_view
from sfumato.errors import DataError, Mistake, PolicyError
from sfumato.policy.resolve import Resolved

if TYPE_CHECKING:
    from sfumato.core.masked_column import MaskedColumn
    from sfumato.engine.plan import Plan
    from sfumato.sources.sql import Sql


@dataclass(frozen=True)
class Link:
    """A foreign key of a table of a policy; ``parent`` is the entry of the table that it refers to, none where the policy does not name that.

    ``broken`` says why the release cannot be joined by it any more, which the policy accepts; it is empty where it can.
    """

    child: str
    columns: tuple[str, ...]
    parent: str | None
    referred: tuple[str, ...]
    target: str
    broken: str = ""

    @property
    def shown(self) -> str:
        """The key in short, as in visits.patient -> patients.id."""
        return f"{self.child}.{_listed(self.columns)} -> {self.parent or self.target}.{_listed(self.referred)}"

    @property
    def is_kept(self) -> bool:
        """Whether the release can be joined by it."""
        return self.parent is not None and not self.broken

    def words(self) -> str:
        """Return what becomes of the key, in a sentence without its end."""
        if self.parent is None:
            return f"{self.shown}: the policy has no table {self.target}, so that there is nothing in the release to join with"
        return f"{self.shown}: the release cannot be joined by it, as the policy accepts, because {self.broken}"


@dataclass(eq=False)
class Tables:
    """The tables of a policy in their database, and everything that was found wrong with them, told at the end."""

    resolved: Mapping[str, Resolved]
    _found: list[Mistake] = field(default_factory=list)
    _of_data: list[bool] = field(default_factory=list)
    _open: ExitStack = field(default_factory=ExitStack)
    _session: Connection | None = None

    def __enter__(self) -> Tables:
        """Begin; a session is opened where one is needed."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the session."""
        self._open.close()

    @property
    def connection(self) -> Connection:
        """The session in which the catalogue is asked."""
        if self._session is None:
            self._session = self._open.enter_context(self._located(next(iter(self.resolved))).connected())
        return self._session

    def source(self, name: str) -> Sql:
        """Return the source of a table, whose columns are known."""
        source = self._located(name)
        source.look(self.connection)
        return source

    def entries(self, names: Iterable[str]) -> dict[str | None, str]:
        """Return some tables by what tells them from all others, whatever they are called."""
        return {self.connection.identity(self._located(name).table_name): name for name in names}

    def foreign_keys(self, name: str) -> list[ForeignKey]:
        """Return the foreign keys of a table."""
        return self.connection.foreign_keys(self._located(name).table_name)

    def primary_key(self, name: str) -> tuple[str, ...]:
        """Return the columns of the primary key of a table."""
        return self.connection.primary_key(self._located(name).table_name)

    @contextmanager
    def mistakes(self, name: str) -> Iterator[None]:
        """Collect what is wrong with one table. A server that cannot be reached is no mistake."""
        each = self.resolved[name]
        try:
            with in_view(name, each.own, "table"):
                yield
        except PolicyError as error:
            self.add(*error.mistakes)
        except DataError as error:
            key = key_text(("tables", name))
            message = error.message.removeprefix(f"table {name}: ")
            self._add(Mistake(key, message, error.code, error.hint, self._line(name)), of_data=True)

    def add(self, *mistakes: Mistake) -> None:
        """Take further mistakes of the policy."""
        for mistake in mistakes:
            self._add(mistake, of_data=False)

    @contextmanager
    def told(self) -> Iterator[None]:
        """Raise what was collected, what is done within included."""
        yield
        if self._found:
            raise _MisfitError(self._found, name=self._name) if all(self._of_data) else PolicyError(self._found, name=self._name)

    def refuse_sources(self, plans: Mapping[str, Plan]) -> None:
        """Refuse a table that would be written over one that is read."""
        with ExitStack() as opened:
            session: Catalogue | None = None
            read = self.entries(plans)
            for name, plan in plans.items():
                if not isinstance(plan.sink, Located):
                    continue
                session = session or opened.enter_context(plan.sink.connected())
                identity = session.identity(plan.sink.table_name)
                if identity is None:
                    continue
                reader = read.get(identity) or self._reader_of(plans, session, plan.sink.table_name)
                if reader is not None:
                    words = f"would be written over the table that {reader} is read from"
                    hint = "into: another name, or another schema in the sink"
                    self.add(Mistake(key_text(("tables", name)), words, "sink-is-source", hint, self._line(name)))

    def refuse_twice(self, plans: Mapping[str, Plan]) -> None:
        """Refuse a table that another one is too, by another schema or in other capitals, and two that would be written to one place."""
        read: dict[str, str] = {}
        written: dict[str, str] = {}
        for name, plan in plans.items():
            identity = self.connection.identity(self._located(name).table_name)
            if identity is not None and read.setdefault(identity, name) != name:
                words, hint = f"is the table that {read[identity]} is too", "leave one of them out, or name another table or schema"
                self.add(Mistake(key_text(("tables", name)), words, "policy-tables-twice", hint, self._line(name)))
            if not isinstance(plan.sink, Located):
                continue
            called = plan.sink.table_name.name
            # servers other than PostgreSQL may not tell capitals in names of tables
            place = called if plan.sink.address.kind == "postgresql" else called.casefold()
            if written.setdefault(place, name) != name:
                words, hint = f"would write over what {written[place]} writes", "into: a name that no other table has, whatever its capitals"
                self.add(Mistake(key_text(("tables", name)), words, "policy-tables-twice", hint, self._line(name)))

    def _reader_of(self, names: Iterable[str], session: Catalogue, replaced: TableName) -> str | None:
        """Return which of some tables is a view that reads one that would be replaced."""
        return next((name for name in names if self.connection.reads(self._located(name).table_name, session, replaced)), None)

    def _add(self, mistake: Mistake, of_data: bool) -> None:
        self._found.append(mistake)
        self._of_data.append(of_data)

    def _located(self, name: str) -> Sql:
        source: Sql = self.resolved[name].source  # type: ignore[assignment]  # tables are read by it alone
        return source

    def _line(self, name: str) -> int | None:
        return self.resolved[name].lines.at(())

    @property
    def _name(self) -> str:
        return next(iter(self.resolved.values())).name


class _MisfitError(PolicyError, DataError):
    """Tables are not as the policy says: it is the data that do not fit."""

    status = 6


def linked(plans: Mapping[str, Plan], tables: Tables) -> list[Link]:
    """Return the foreign keys of all tables; refuse those by which the release could not be joined, unless the table accepts it."""
    entries = tables.entries(plans)
    links: list[Link] = []
    for name, plan in plans.items():
        for key in tables.foreign_keys(name):
            parent = entries.get(tables.connection.identity(key.table))
            link = Link(name, key.columns, parent, key.referred, str(key.table))
            links.append(link if parent is None else _checked(link, key, plan, plans[parent], tables))
    return links


def lost_keys(plans: Mapping[str, Plan], tables: Tables) -> dict[str, str]:
    """Return of the tables whose rows are no longer told apart by their primary keys why that is so."""
    found = {}
    for name, plan in plans.items():
        key = tables.primary_key(name)
        fates = [f"{column} {fate}" for column in key if (fate := _fate(plan, column)) in ("is removed", "is generalised")]
        masks = {column: plan.resolved.masks[column] for column in key if column in plan.published and column in plan.resolved.masks}
        fates += [f"{column} is masked with {mask.component_name()}" for column, mask in masks.items() if mask.card.uniqueness == "lossy"]
        if fates:
            found[name] = f"its primary key {_listed(key)} does not tell rows apart any more: {' and '.join(fates)}"
    return found


def _checked(link: Link, key: ForeignKey, child: Plan, parent: Plan, tables: Tables) -> Link:
    """Return a key between two tables of the policy with what is wrong with it, which is a mistake unless it is accepted."""
    wrong = _wrong(key, child, parent)
    if not wrong:
        return link
    if "broken_key" in child.resolved.accepts:
        return replace(link, broken="; ".join(why for _, why in wrong))
    for column, why in wrong:
        path = ("columns", column)
        words = f"is of the foreign key {link.shown}, by which the release could not be joined: {why}"
        line = child.resolved.lines.at(path)
        tables.add(Mistake(key_text(("tables", link.child, *path)), words, "policy-broken-key", _hint(link.child, key), line))
    return link


def _wrong(key: ForeignKey, child: Plan, parent: Plan) -> list[tuple[str, str]]:
    """Return what is wrong with a key, with the column of which it is told."""
    if key.by_period:
        return [(key.columns[-1], "it is a key by periods (PERIOD), which lie within others, and releases are joined by what is the same")]
    pairs = zip(key.columns, key.referred, strict=True)
    return [(column, why) for column, other in pairs if (why := _differ(child, column, parent, other)) is not None]


def _differ(child: Plan, column: str, parent: Plan, other: str) -> str | None:
    """Return why two columns do not become the same; None where they do."""
    fates = [_fate(child, column), _fate(parent, other)]
    told = f"{column} {fates[0]} and {other} {fates[1]}"
    if any(fate in ("is removed", "is generalised") for fate in fates):
        return told
    masks = child.resolved.masks.get(column), parent.resolved.masks.get(other)
    one, two = (mask if mask is not None and mask.changes else None for mask in masks)
    if one is None and two is None:
        return None
    if one is None or two is None:
        return told
    return _unlike(one, two, column, other)


def _unlike(one: MaskedColumn, two: MaskedColumn, column: str, other: str) -> str | None:
    """Return why two masks do not make the same of one value."""
    if one.when is not None or two.when is not None:
        return f"{column if one.when is not None else other} is masked under a condition"
    if not one.does_the_same(two) or one.on_null != two.on_null:
        return f"{column} and {other} are masked in two ways"
    if one.card.scope != "value" or not one.card.deterministic:
        return f"{one.component_name()} does not always make the same of one value"
    if one.card.uniqueness == "lossy":
        return f"{one.component_name()} makes one value of several"
    return None


def _fate(plan: Plan, column: str) -> str:
    """Return what becomes of a column, as the end of a sentence."""
    if column not in plan.published:
        return "is removed"
    if column in plan.quasi_identifiers:
        return "is generalised"
    mask = plan.resolved.masks.get(column)
    return f"is masked with {mask.component_name()}" if mask is not None and mask.changes else "is kept"


def _hint(table: str, key: ForeignKey) -> str:
    accepted = f"accept: broken_key in the table {yaml_text(table)}"
    if key.by_period:
        return accepted
    same = "keep both, or give both the same mask with the same key and domain, such as mask: {hash: {key: main, domain: patient}}"
    return f"{same}; or {accepted}"


def _listed(columns: Sequence[str]) -> str:
    return columns[0] if len(columns) == 1 else f"({', '.join(columns)})"
