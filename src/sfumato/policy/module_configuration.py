"""The configuration file of a k-anonymisation module, read as a policy.

Such a file is JSON: ``k``, a list of ``sensitive_attributes``, and ``indirect_identifiers`` (or ``qids``), each with its type and, where
that is hierarchical, a tree of nodes with ``value`` and ``children``. What it does not name does not reach the release. It says neither
where rows come from and go to nor how to search: ``source``, ``sink``, ``algorithm`` and ``suppression_limit`` may stand in it as in a policy.

With Datafly a column starts where its ``datafly_`` key says: in so many buckets of about as many rows, or at so many steps below the root
of its tree. One without such a key is suppressed entirely.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from sfumato.core.mistakes import Place, key_text, mistakes_of, spoilt
from sfumato.core.settings import Settings
from sfumato.errors import Mistake
from sfumato.policy.lines import Lines

_IDENTIFIERS = ("indirect_identifiers", "qids")
_SERVERS = ("elasticsearch", "mysql", "backend", "database", "index", "table")
_AS_IN_A_POLICY = ("source", "algorithm", "suppression_limit", "sink")
_DATAFLY_KEYS = {"numerical": "datafly_num_of_buckets", "hierarchical": "datafly_init_level", "categorical": "datafly_init_level"}
_EVERY_BIT = list(range(31, 0, -1))


class _Node(Settings):
    value: str
    children: list[_Node] = []


class _Attribute(Settings):
    type: Literal["numerical", "categorical", "hierarchical", "timestamp", "ip"]
    tree: _Node | None = None
    datafly_num_of_buckets: Annotated[int | None, Field(ge=1, le=1_000_000)] = None
    datafly_init_level: Annotated[int | None, Field(ge=0)] = None


class _Configuration(Settings):
    k: Annotated[int, Field(ge=2)]
    sensitive_attributes: list[str] = []
    indirect_identifiers: dict[str, Any] | None = None
    qids: dict[str, Any] | None = None
    source: Any = None
    algorithm: Any = None
    suppression_limit: Any = None
    sink: Any = None


@dataclass
class Translation:
    """A configuration as a policy: where each key stands in the file, what is wrong with it, and what was decided, by key.

    What is wrong was left out; ``unknown`` are the keys of the policy of which nobody can tell what they should have said.
    """

    policy: dict[str, Any] = field(default_factory=dict)
    lines: Lines = field(default_factory=Lines)
    mistakes: list[Mistake] = field(default_factory=list)
    unknown: set[Place] = field(default_factory=set)
    remarks: dict[Place, str] = field(default_factory=dict)


def is_module_configuration(value: Any) -> bool:
    """Return whether a document is such a configuration, not a policy.

    >>> is_module_configuration({"k": 5, "qids": {}}), is_module_configuration({"columns": {}})
    (True, False)
    """
    return isinstance(value, Mapping) and "columns" not in value and any(key in value for key in (*_IDENTIFIERS, "sensitive_attributes"))


def translate(value: Mapping[str, Any], lines: Lines) -> Translation:
    """Return a configuration as a policy."""
    return _Translator(value, lines).translated()


class _Translator:
    def __init__(self, value: Mapping[str, Any], lines: Lines) -> None:
        self._value = value
        self._lines = lines
        self._found = Translation()
        self._named = next((key for key in _IDENTIFIERS if key in value), _IDENTIFIERS[0])

    def translated(self) -> Translation:
        """Translate part by part, so that the mistakes of all parts are found."""
        broken = self._top()
        found, policy = self._found, self._found.policy
        found.lines.by_path = {path: line for path, line in self._lines.by_path.items() if path[:1] in ((), *((key,) for key in _AS_IN_A_POLICY))}
        if "source" in self._value:
            policy["source"] = self._value["source"]
        policy["columns"] = {}
        self._stands(("columns",), (self._named,))
        if {"indirect_identifiers", "qids"} & broken:
            found.unknown.add(("columns",))
        else:
            self._columns(self._value.get(self._named, {}))
        self._sensitive([] if "sensitive_attributes" in broken else self._value.get("sensitive_attributes", []))
        policy["unnamed"] = "remove"
        found.remarks["unnamed",] = "what the configuration does not name does not reach the release"
        self._promises("k" in broken)
        policy["algorithm"] = self._algorithm()
        policy |= {key: self._value[key] for key in ("suppression_limit", "sink") if key in self._value}
        if policy["algorithm"] == "datafly" and "suppression_limit" not in policy:
            found.remarks["algorithm",] += "; no row may be left over: the module left out up to k - 1, which suppression_limit can allow"
        return found

    def _say(self, path: Place, message: str, code: str, hint: str) -> None:
        self._found.mistakes.append(Mistake(key_text(path), message, code, hint, self._lines.at(path)))

    def _stands(self, path: Place, original: Place) -> None:
        """Note where a key of the policy comes from."""
        line = self._lines.at(original)
        if line is not None:
            self._found.lines.by_path[path] = line

    def _top(self) -> set[str]:
        """Check everything but the identifiers, and return the keys that are wrong."""
        for key in _SERVERS:
            if key in self._value:
                hint = "source: data.csv, in the file or with sfumato convert --source data.csv"
                self._say((key,), "names a server, and this version reads and writes only files", "policy-not-built", hint)
        if all(key in self._value for key in _IDENTIFIERS):
            self._say((_IDENTIFIERS[1],), "stands beside indirect_identifiers, which means the same", "policy-key-twice", "leave one of them out")
        broken = self._checked({key: given for key, given in self._value.items() if key not in _SERVERS})
        if self._value.get(self._named) is None and not set(_IDENTIFIERS) & broken:
            self._say((), f"needs the key {self._named}", "policy-missing-key", f'"{self._named}": {{"age": {{"type": "numerical"}}}}')
            return broken | {self._named}
        return broken

    def _checked(self, given: dict[str, Any]) -> set[str]:
        try:
            _Configuration.model_validate(given)
        except ValidationError as error:
            self._found.mistakes += mistakes_of(error, _Configuration, self._lines.at)
            return {str(path[0]) for path in spoilt(error, _Configuration)}
        return set()

    def _columns(self, attributes: Mapping[str, Any]) -> None:
        for name, given in attributes.items():
            path: Place = (self._named, name)
            self._stands(("columns", name), path)
            try:
                attribute = _Attribute.model_validate(given)
            except ValidationError as error:
                self._found.mistakes += mistakes_of(error, _Attribute, self._lines.at, path)
            else:
                number = len(self._found.mistakes)
                self._refuse_keys_of_other_types(attribute, path)
                self._refuse_a_tree_that_is_none(attribute, path)
                if len(self._found.mistakes) == number:
                    column, remark = self._column(attribute)
                    self._found.policy["columns"][name] = {"role": "quasi_identifier", **column}
                    self._found.remarks["columns", name] = remark
                    continue
            self._found.policy["columns"][name] = {"role": "other"}
            self._found.unknown.add(("columns", name))

    def _refuse_keys_of_other_types(self, attribute: _Attribute, path: Place) -> None:
        own = {"type", *([_DATAFLY_KEYS[attribute.type]] if attribute.type in _DATAFLY_KEYS else [])}
        if attribute.type in ("hierarchical", "categorical"):
            own.add("tree")
        for key in sorted(attribute.model_fields_set - own):
            self._say((*path, key), f"says nothing of an attribute of type {attribute.type}", "policy-role-key", "leave it out, or change the type")
        if attribute.type in ("timestamp", "ip") and self._algorithm_name() == "datafly":
            hint = '"algorithm": "mondrian", or leave the attribute out'
            self._say((*path, "type"), f"the module's Datafly knows no attributes of type {attribute.type}", "policy-value", hint)

    def _refuse_a_tree_that_is_none(self, attribute: _Attribute, path: Place) -> None:
        if attribute.type == "hierarchical" and attribute.tree is None:
            self._say(path, "needs the key tree", "policy-missing-key", '"tree": {"value": "*", "children": [...]}')
        if attribute.tree is None:
            return
        if not _joined(attribute.tree).children:
            self._say((*path, "tree"), "has no children: there is nothing to generalise", "policy-value", '"children": [{"value": ...}]')
        seen: set[str] = set()
        for place, node in _nodes(_joined(attribute.tree), (*path, "tree")):
            if node.value in seen:
                self._say(place, "is a value that stands in the tree a second time", "policy-value", "leave one of them out, or rename a node")
            seen.add(node.value)

    def _column(self, attribute: _Attribute) -> tuple[dict[str, Any], str]:
        datafly = self._algorithm_name() == "datafly"
        if attribute.type == "timestamp":
            return {"type": "timestamp", "hierarchy": {"interval": {}}}, "ranges of time"
        if attribute.type == "ip":
            return {"type": "ip", "hierarchy": {"network": {"ipv4": _EVERY_BIT}}}, "networks, halved bit by bit"
        if attribute.type == "numerical":
            buckets = attribute.datafly_num_of_buckets
            if not datafly:
                return {"hierarchy": {"interval": {}}}, "ranges of numbers" + _unused(attribute)
            levels = {"hierarchy": {"interval": {"quantiles": buckets or 1}}, "level": {"minimum": 1}}
            return levels, f"starts in {buckets} buckets of about as many rows" if buckets else "no datafly_num_of_buckets: suppressed entirely"
        tree = None if attribute.tree is None else _joined(attribute.tree)
        hierarchy: Any = "flat" if tree is None else {"taxonomy": {"tree": _taxonomy(tree)}}
        column: dict[str, Any] = {"hierarchy": hierarchy, **({} if tree is None else {"on_unknown": "suppress"})}
        outside = "" if tree is None else "; rows with a value outside the tree are left out, within suppression_limit"
        if not datafly:
            return column, ("as it is or not at all" if tree is None else "nodes of the tree") + outside + _unused(attribute)
        height, start = (1 if tree is None else _height(tree)), attribute.datafly_init_level
        least = height - min(start or 0, height)
        words = "no datafly_init_level: suppressed entirely" if start is None else f"starts at {start} below the root, level {least} from the leaves"
        return column | ({"level": {"minimum": least}} if least else {}), words + outside

    def _sensitive(self, names: list[str]) -> None:
        for place, name in enumerate(names):
            path: Place = ("sensitive_attributes", place)
            if ("columns", name) in self._found.unknown or name in self._found.policy["columns"]:
                twice = self._found.policy["columns"].get(name, {}).get("role") == "sensitive"
                what = "stands here a second time" if twice else f"is also among {self._named}"
                self._say(path, what, "policy-key-twice", "leave one of them out")
                continue
            self._found.policy["columns"][name] = {"role": "sensitive"}
            self._stands(("columns", name), path)

    def _promises(self, unknown: bool) -> None:
        if unknown:
            self._found.unknown.add(("promises",))
            return
        self._found.policy["promises"] = [{"k_anonymity": {"k": self._value["k"]}}]
        for path in (("promises",), ("promises", 0), ("promises", 0, "k_anonymity")):
            self._stands(path, ("k",))

    def _algorithm(self) -> Any:
        given = self._value.get("algorithm")
        if given is not None:
            self._found.remarks["algorithm",] = "as the configuration says"
            return given.lower() if isinstance(given, str) else given
        if self._algorithm_name() == "datafly":
            self._found.remarks["algorithm",] = "the configuration names no algorithm, but has keys of Datafly"
            return "datafly"
        self._found.remarks["algorithm",] = "the configuration names no algorithm"
        return "mondrian"

    def _algorithm_name(self) -> str:
        """Return the search that is meant: where the file names none, Datafly if it has keys of it."""
        given = self._value.get("algorithm")
        if isinstance(given, Mapping) and len(given) == 1:
            given = next(iter(given))
        if given is not None:
            return str(given).lower()
        attributes = self._value.get(self._named)
        every = attributes.values() if isinstance(attributes, Mapping) else ()
        keyed = any(isinstance(one, Mapping) and any(key in one for key in _DATAFLY_KEYS.values()) for one in every)
        return "datafly" if keyed else "mondrian"


def _unused(attribute: _Attribute) -> str:
    keys = sorted(attribute.model_fields_set & set(_DATAFLY_KEYS.values()))
    return f"; {keys[0]} is for datafly only" if keys else ""


def _joined(node: _Node) -> _Node:
    """Return a tree in which a node with one child of its own name is that child: they cannot be told apart in a release."""
    while len(node.children) == 1 and node.children[0].value == node.value:
        node = node.children[0]
    return _Node(value=node.value, children=[_joined(child) for child in node.children])


def _nodes(node: _Node, path: Place) -> list[tuple[Place, _Node]]:
    below = [found for place, child in enumerate(node.children) for found in _nodes(child, (*path, "children", place))]
    return [(path, node), *below]


def _taxonomy(tree: _Node) -> dict[str, list[str]]:
    """Return a tree as a taxonomy writes it, parents before their children."""
    return {node.value: [child.value for child in node.children] for _, node in _nodes(tree, ()) if node.children}


def _height(tree: _Node) -> int:
    return 1 + max(map(_height, tree.children)) if tree.children else 0
