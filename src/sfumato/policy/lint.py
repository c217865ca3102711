"""Lint: what a policy may say and should not, because masks and columns go together badly. Nothing of it stops a run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.core.mask import Mask, Mixing, Totals
from sfumato.core.mistakes import Place, key_text
from sfumato.errors import Mistake, number_of
from sfumato.key_material import NOT_SHOWN, named
from sfumato.policy.lint_together import averaged_out, beside_chance, is_noise, measured
from sfumato.policy.model import Column
from sfumato.policy.resolve import Resolved
from sfumato.policy.seed import FOR_TESTS

if TYPE_CHECKING:
    from sfumato.core.masked_column import MaskedColumn

# the columns that would have to accept it, and what it is
_Warned = tuple[Sequence[Column], Mistake]

_WORD, _BETWEEN = r"(^|[_. -])", "[_. -]?"


def _any(names: str) -> str:
    """Return a pattern for any of some names, their words written together or apart."""
    return f"({'|'.join(names.replace('_', _BETWEEN).split())})"


# what may stand behind a name: a further word, and a number where there are several
_END = rf"({_BETWEEN}{_any('address code date day id line name no nr num number nummer year')})?({_BETWEEN}[0-9]{{1,2}})?$"
# names by which columns are called that together single people out, in the languages of those who ask most
_TELLING_NAMES = """
    age date_of_birth birth birthday birthdate birth_place place_of_birth born dob yob zip zipcode postcode postal gender sex city town street address
    addr latitude longitude ip ip_addr race ethnicity religion nationality marital marital_status occupation job job_title
    plz postleitzahl adresse anschrift geburtsdatum geburtstag geburtsjahr geburtsort alter geschlecht ort stra(ss|ß)e hausnummer wohnort beruf
    sexe sexo code_postal date_(de_)?naissance fecha_(de_)?nacimiento
"""
_TELLING = re.compile(f"{_WORD}{_any(_TELLING_NAMES)}{_END}", re.IGNORECASE)
# names by which columns are called that say who somebody is: by themselves, before the word name, or where a number is meant
_OF_PEOPLE = "patient person customer client employee member student user"
_NAMED = f"{_OF_PEOPLE} contact full first last family given middle maiden sur fore vor nach geburts patienten"
_NUMBERED = f"""
    {_OF_PEOPLE} insurance national tax social passport account card mobile mobil handy steuer kunden versicherten versicherungs sozialversicherungs
"""
_SAYING_WHO_NAMES = """
    e-?mail mail phone telephone cell_phone fax ssn nino bsn dni pesel mrn nhs kvnr svnr codice_fiscale passport iban username login social_security
    nom prenom prénom apellidos? nombre cognome telefon téléphone telefono teléfono
"""
_SAYING_WHO = re.compile(
    rf"^name({_BETWEEN}[0-9]{{1,2}})?$|{_WORD}{_any(_NAMED)}{_BETWEEN}name({_BETWEEN}[0-9]{{1,2}})?$|{_WORD}{_any(_SAYING_WHO_NAMES)}{_END}"
    rf"|{_WORD}{_any(_NUMBERED)}{_BETWEEN}{_any('id no nr num number nummer')}{_END}",
    re.IGNORECASE,
)

# names of columns of which one tells most of another: who has both can put a shuffled one in order again
_KIN = tuple(
    re.compile(f"{_WORD}{_any(names)}{_END}", re.IGNORECASE)
    for names in (
        "zip zipcode postcode postal plz postleitzahl code_postal city town ort wohnort street address addr adresse anschrift stra(ss|ß)e region "
        "state county country latitude longitude",
        "age date_of_birth birth birthday birthdate born dob yob geburtsdatum geburtstag geburtsjahr alter date_(de_)?naissance "
        "fecha_(de_)?nacimiento",
        f"name {' '.join(f'{word}_name' for word in _NAMED.split())} e-?mail mail username login nom prenom prénom nombre apellidos? cognome",
    )
)

# of numbers with decimals and of instants hardly two are the same
_MOSTLY_UNIQUE = ("decimal", "timestamp")
SAYS_LITTLE = "distinct values are counted, most of which occur once: l of them may mean the same, so that the promise says little"


def lint(views: Mapping[str, Resolved], accepted: bool = True) -> list[Mistake]:
    """Return what to think about again, each once; on request without that of columns whose policy says that it is known, ``accept: warnings``."""
    seeded = next((view for view in views.values() if view.policy.seed is not None), None)
    told = [] if seeded is None else [Mistake("seed", FOR_TESTS, "lint-seed", "leave it out of what is published", seeded.lines.at(("seed",)))]
    found = [each for name, view in views.items() for each in _of_view(name, view)]
    told += [warning for columns, warning in (*found, *_between_views(views)) if accepted or not _accept(columns)]
    return _once(told)


def _once(told: Sequence[Mistake]) -> list[Mistake]:
    """Return warnings of which views share a line as one that counts them."""
    found: dict[tuple[Any, ...], list[Mistake]] = {}
    for each in dict.fromkeys(told):
        same = (each.line, each.message, each.code, each.hint)
        found.setdefault((*same, each.key) if each.line is None else same, []).append(each)
    return [_with_others(first, len(others)) for first, *others in found.values()]


def _with_others(warning: Mistake, others: int) -> Mistake:
    return replace(warning, key=f"{warning.key}, and in {number_of(others, 'other view')}") if others else warning


def _accept(columns: Sequence[Column]) -> bool:
    return bool(columns) and all("warnings" in column.accept for column in columns)


def _of_view(name: str, view: Resolved) -> Iterator[_Warned]:
    policy = view.policy

    def warning(column: str, key: str, message: str, code: str, hint: str) -> _Warned:
        path: Place = ("columns", column, key)
        told: Place = (f"{view.part}s", name, *path) if name else path
        return [policy.columns[column]], Mistake(key_text(told), message, code=code, hint=hint, line=view.lines.at(path))

    for column, mask in view.masks.items():
        for words in mask.warnings:
            yield warning(column, "mask", words, code="lint-mask", hint="another operation or setting, if somebody could mind")
        for other in _told_by(mask):
            if other in view.masks or (other in policy.columns and policy.columns[other].role == "identifier"):
                words = f"what it shows depends on {other}, which is masked or removed: rows that differ there may be told apart by it"
                yield warning(column, "mask", words, code="lint-group-shown", hint="groups and conditions by columns that are published as they are")
        if policy.subject is not None and any(is_noise(step) for step in mask.operations):
            words = f"one person has many rows, and the noise of all of them averages out: {policy.subject} says whose they are"
            yield warning(column, "mask", words, code="lint-noise-averages", hint="noise with a key, or one value a person before the noise")
        kin = _shown_kin(view, column) if any(isinstance(step, Mixing) and step.card.perturbs for step in mask.steps) else []
        if kin:
            words = f"mixes values of which {' and '.join(kin)}, published as {'it is' if len(kin) == 1 else 'they are'}, may tell whose they were"
            yield warning(column, "mask", words, code="lint-shuffle-shown", hint="shuffle: {together: ...} for all of them, or mask them too")
    for column, words in _few_for_promises(view):
        yield warning(column, "mask", words, code="lint-few-told", hint="leave k out: it is that of the promise")
    if view.promises and _nobody_counts_people(view):
        words = "nothing is said of how many people a class has: one person with several rows can be a class"
        read = [policy.columns[column] for promise in view.promises for column in promise.reads if column in policy.columns]
        key = key_text((f"{view.part}s", name, "promises")) if name else "promises"
        yield read, Mistake(key, words, code="lint-alone", hint="k_anonymity: {k: 5} beside them", line=view.lines.at(("promises",)))
    for promise in view.promises:
        for column in promise.reads if getattr(promise, "kind", None) == "distinct" else ():
            if column in policy.columns and policy.columns[column].type in _MOSTLY_UNIQUE and column not in view.masks:
                yield warning(column, "type", SAYS_LITTLE, code="lint-distinct", hint="t_closeness with the ordered distance, or a coarser column")
    if _names_people_beside_noise(view):
        words = "is published as it is beside made-up records, which are in the names of others: whoever knows a name finds all of that person"
        hint = "a mask with a key, such as hash, unless these are pseudonyms already, that nobody else knows; then accept: warnings"
        yield warning(policy.subject or "", "role", words, code="lint-noise-subject", hint=hint)
    for column, entry in policy.columns.items():
        if entry.role == "other" and _is_left(view, column) and _TELLING.search(_words(column)):
            words = "is published as it is, and by its name people could be known by it"
            yield warning(column, "role", words, code="lint-left-in-clear", hint="role: quasi_identifier, or a mask")
        elif entry.role == "other" and _is_left(view, column) and _SAYING_WHO.search(_words(column)):
            words = "is published as it is, and by its name it says who somebody is"
            yield warning(column, "role", words, code="lint-left-in-clear", hint="role: identifier, which removes it, or a mask")
        elif entry.role == "identifier" and column in view.masks and not view.masks[column].changes:
            words = "is an identifier, and its mask keeps it as it is"
            yield warning(column, "mask", words, code="lint-left-in-clear", hint="no mask, which removes it, or a pseudonym: hash with a key")


def _names_people_beside_noise(view: Resolved) -> bool:
    """Return whether a search makes records up in the names of people who are published as they are."""
    subject = view.policy.subject
    if subject is None or subject not in view.policy.columns or getattr(view.algorithm, "noise", None) is None:
        return False
    mask = view.masks.get(subject)
    return view.policy.columns[subject].role != "identifier" if mask is None else not mask.changes


def _shown_kin(view: Resolved, column: str) -> list[str]:
    """Return the columns that a view shows as they are, or coarser, and that by their names tell most of another one."""
    kin = [names for names in _KIN if names.search(_words(column))]
    others = (name for name in view.policy.columns if name != column and _is_plain(view, name))
    return [name for name in others if any(names.search(_words(name)) for names in kin)]


def _words(name: str) -> str:
    """Return a name with its words apart.

    >>> _words("dateOfBirth")
    'date_Of_Birth'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)


def _nobody_counts_people(view: Resolved) -> bool:
    """Return whether a class may be of one person: l values are those of l people where everybody has one row."""
    names = {promise.component_name() for promise in view.promises}
    return "k_anonymity" not in names and (view.policy.subject is not None or "l_diversity" not in names)


def _told_by(mask: MaskedColumn) -> list[str]:
    """Return the other columns whose values may be seen in what a mask makes: by which values are grouped, or on which a condition looks."""
    grouped = [name for step in (*mask.steps, *mask.otherwise) if isinstance(step, Totals) for name in step.reads]
    asked = mask.when.reads if mask.when is not None else ()
    return [name for name in dict.fromkeys([*grouped, *asked]) if name != mask.column]


def _between_views(views: Mapping[str, Resolved]) -> Iterator[_Warned]:
    """What two audiences could put together. Tables of one policy are for one audience, which is to join them."""
    views = {name: view for name, view in views.items() if view.part == "view"}
    shared: dict[tuple[str, str], list[str]] = {}
    sharing: dict[tuple[str, str], list[Column]] = {}
    called: dict[tuple[str, str], str] = {}
    yield from averaged_out(views)
    yield from beside_chance(views)
    yield from measured(views)
    for name, view in views.items():
        for column, mask in view.masks.items():
            for step in mask.operations:
                for one, words in _shared_by(step, view):
                    sharing.setdefault(one, []).append(view.policy.columns[column])
                    called.setdefault(one, words)
                    seen = shared.setdefault(one, [])
                    seen += [name] if name not in seen else []
    for one, names in shared.items():
        if len(names) > 1:
            yield (
                sharing[one],
                Mistake(
                    "views",
                    f"{', '.join(names)} share {called[one]}: whoever has two of them can join their rows",
                    code="lint-domain-shared",
                    hint="a domain of its own for each audience, or none: then it is the view's own",
                ),
            )
    for name, view in views.items():
        for column, mask in view.masks.items():
            plain = [other for other, elsewhere in views.items() if _is_plain(elsewhere, column)]
            if any(isinstance(step, Mixing) and step.card.perturbs for step in mask.steps) and plain:
                yield (
                    [view.policy.columns[column]],
                    Mistake(
                        key_text(("views", name, "columns", column, "mask")),
                        f"mixes what {', '.join(plain)} shows as it is: whoever has both can put it in order again",
                        code="lint-shuffle-shown",
                        hint="mask the column in all views that one reader could get",
                    ),
                )


def _is_plain(view: Resolved, column: str) -> bool:
    """Return whether a view shows a column without a mask, a quasi-identifier at most coarser."""
    return column in view.policy.columns and view.policy.columns[column].role != "identifier" and _is_left(view, column)


def _is_left(view: Resolved, column: str) -> bool:
    return column not in view.masks or not view.masks[column].changes


def _shared_by(step: Mask, view: Resolved) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield what pseudonyms of an operation hang on, so that two which have it in common are the same, and how it is called.

    Two names of keys that are read from one place are one key.
    """
    domain: Any = getattr(step, "domain", None)
    for key in step.keys if domain is not None else ():
        source = repr(view.policy.keys[key]) if key in view.policy.keys else key
        yield (source, domain), f"the pseudonym domain {named(domain, NOT_SHOWN)} of the key {key}"
    namespace: Any = getattr(step, "namespace", None)
    if namespace is not None and hasattr(step, "vault"):
        yield (f"vault {step.vault}", namespace), f"the tokens of the namespace {named(namespace, NOT_SHOWN)}"


def _few_for_promises(view: Resolved) -> Iterator[tuple[str, str]]:
    """Yield the columns of which something is told of fewer people than the promises say, and what is to be said of it."""
    promised = max((int(promise.asked) for promise in view.promises if promise.component_name() == "k_anonymity"), default=0)
    for column, mask in view.masks.items():
        for step in mask.operations:
            k: Any = getattr(step, "k", None)
            if isinstance(step, Totals) and k is not None and k < promised and not getattr(step, "plain", False):
                yield column, f"{step.component_name()} tells something of {k} people, and the promise is of {promised}"
