"""The forms in which dates stand in free text, in digits and with the names of months in several languages, with the time that may follow them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from sfumato.core.entity_form import WORD, Form, each
from sfumato.core.months import MONTH_NAMES, MONTHS_CAPITALISED, MONTHS_CUT_SHORT, MONTHS_WITH_YEAR

# the time that may follow a date
_ZONE = r"(?:(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2}(?![./-][0-9]))\b)"
# behind a date without a time, where no number goes on
_ZONE_OF_DAY = r"(?:[+-](?:0[0-9]|1[0-4]):?[0-5][0-9](?![0-9]|[ ./-][0-9]))"
_CLOCK = (
    r"[0-2]?[0-9](?::[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]{1,9})?)?|[hH][0-5][0-9])"
    rf"(?: ?(?:[AaPp]\.?[Mm]\b\.?|Uhr\b|h\b|{_ZONE}))?"
)
_TIME = rf"(?:T[0-2][0-9][0-5][0-9](?:[0-5][0-9])?{_ZONE}?|(?:T|,? {{1,2}}(?:(?:at|um|à|a las|alle|alle ore) )?){_CLOCK})?"
# numbers with one of these behind them are doses and sizes
_NO_UNIT = r"(?! ?(?:mg|mcg|µg|g|kg|ml|l|cm|mm|units?|iu|ie|mmol|mmhg)\b| ?%)"
_YEAR = r"(?:19|20)[0-9]{2}"
_DAY = r"(?:3[01]|[12][0-9]|0?[1-9])"
_ORDINAL = r"(?:st|nd|rd|th|er|º|°|ª)"
_OF = r"(?:of |de |del |d['’])?"
_MORE_DAYS = rf"(?:{_ORDINAL}\b|[.º°])?(?: ?(?:-|to|bis|au|al|and|und|et|y|e) ?{_DAY}(?:{_ORDINAL}\b|[.º°])?)?"
_DAYS = rf"{_DAY}{_MORE_DAYS}"
# at the beginning of a date, sought by their first digit
_FIRST_DAY = r"[0-9](?<![0-9].)(?<![0-9][.,/].)(?:(?<=3)[01]|(?<=[12])[0-9]|(?<=0)[1-9]|(?<=[1-9]))"
_FIRST_DAYS = rf"{_FIRST_DAY}{_MORE_DAYS}"
_FIRST_YEAR = r"[12](?<![0-9].)(?<![0-9][.,/].)(?:(?<=1)9|(?<=2)0)[0-9]{2}"


def _longest_first(names: Iterable[str]) -> str:
    """Return names as an expression, also in decomposed form: `März` may be written with an `a` and two dots."""
    forms = dict.fromkeys(form for name in names for form in (name, unicodedata.normalize("NFD", name)))
    return "|".join(sorted(forms, key=len, reverse=True))


_NAMES = _longest_first(MONTH_NAMES)
_ALL_NAMES = _longest_first((*MONTH_NAMES, *MONTHS_WITH_YEAR))
_NAME_END = r"(?![^\W\d_]|[\u0300-\u036f])"
_MONTH = rf"(?i:{_NAMES}){_NAME_END}"
_ANY_MONTH = rf"(?i:{_ALL_NAMES}){_NAME_END}\.?"
# may, march and dec are words and numbers of their own: beside a day they are months with a capital, some of them also without one behind the day
_CAPITALISED = "|".join(name for month in sorted(MONTHS_CAPITALISED, key=len, reverse=True) for name in (month.capitalize(), month.upper()))
_CAPITALISED_MONTH = rf"(?:{_CAPITALISED}){_NAME_END}"
_CUT_SHORT_MONTH = rf"(?:{'|'.join(sorted(MONTHS_CUT_SHORT, key=len, reverse=True))}){_NAME_END}"
_STOP = r"(?:(?<!March)(?<!MARCH)(?<!May)(?<!MAY)\.)?"
_MONTH_SCREEN = (
    rf"(?i)[0-9][^0-9]{{0,4}}(?:of |de |del |d')?(?:{_ALL_NAMES})(?:[^a-z]|$)"
    rf"|(?:^|[^0-9A-Za-z])(?:{_ALL_NAMES})[^0-9a-z]{{1,3}}(?:de |del |of )?[0-9]"
)
# in May 12 patients came: where a sentence or `in` stands before the month, the number may be that of what is counted
_COUNTED = "patients|people|persons|women|men|children|infants|adults|cases|subjects|participants|volunteers|deaths|births|Patienten|Fälle"
_NOT_COUNTED = rf"(?:(?<!^.)(?<![.!?;:] .)(?<!\b[Ii]n .)(?<!\b[Ii]m .)|(?![^\W\d_]{{2,9}}\.? [0-9]{{1,2}} (?:{_COUNTED})\b))"
_MONTH_NUMBER = "(?:1[0-2]|0?[1-9])"
# a date follows no number, but may follow the first date of a range, or its time
_AFTER_TIME = r"(?<=[0-9]:[0-9]{2}[-/].)|(?<=[0-9]Z[-/].)"
_AFTER_YEAR_FIRST = (
    rf"(?:(?<![0-9].)(?<![0-9][./-].)|{_AFTER_TIME}|"
    + "|".join(rf"(?<=[12][0-9]{{3}}[-./][0-9]{{{month}}}[-./][0-9]{{{day}}}[-/].)" for month in (1, 2) for day in (1, 2))
    + ")"
)
_AFTER_YEAR_LAST = rf"(?:(?<![0-9].)(?<![0-9][./-].)|{_AFTER_TIME}|(?<=[0-9][./-][12][0-9]{{3}}[-/].)|(?<=[0-9][./][0-9]{{2}}-.))"
_BEFORE_YEAR_LAST = r"(?:(?![0-9]|[./-][0-9])|(?=[-/][0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{2}))"


@each
def _is_day(text: str) -> bool:
    first, second, third = (int(part) for part in re.split(r"\D+", text)[:3])
    days, months = ((third, second), (second, first)) if first > 31 else ((first, second), (second, first))
    return any(1 <= day <= 31 and 1 <= month <= 12 for day, month in (days, months))


def _first_name(names: str, flags: str = "", behind: str = "") -> str:
    """Return the expression of names behind no letter, sought by their first characters; one whose case does not matter with the flag ``i``.

    ``behind`` says behind what else they may stand.
    """
    rests: dict[str, list[str]] = {}
    for name in names.split("|"):
        rests.setdefault(name[0] + name[0].upper() if flags else name[0], []).append(name[1:])
    each = "|".join(rf"(?<=[{first}])(?{flags}:{'|'.join(rest)})" for first, rest in rests.items())
    return rf"[{''.join(rests)}](?<![{WORD}].){behind}(?:{each}){_NAME_END}"


def _month_forms() -> tuple[Form, ...]:
    """Dates with the name of a month: with a year, or where the name can mean nothing else with a day."""
    tail = rf"(?![0-9]){_TIME}"
    any_month = _first_name(_ALL_NAMES, "i") + r"\.?"
    no_day = rf"(?<![0-9] .)(?<![0-9]\. .){_NOT_COUNTED}"
    day_last = rf" {_DAY}(?![0-9.,]?[0-9]|[{WORD}]){_NO_UNIT}{_TIME}"
    day_first = rf"{_OF}(?:{_MONTH}|(?:{_CAPITALISED_MONTH}|{_CUT_SHORT_MONTH}){_STOP}){_TIME}"
    patterns = (
        rf"{_FIRST_YEAR}([-/.]){_ANY_MONTH}\1{_DAY}{tail}",
        rf"{any_month}([-/]){_DAY}\1(?:{_YEAR}|[0-9]{{2}}){tail}",
        rf"{_FIRST_DAYS} {{0,2}}{_OF}{_ANY_MONTH},? {{0,2}}(?:de |del )?(?:{_YEAR}|['’][0-9]{{2}}){tail}",
        rf"{_FIRST_DAY}([-/]){_ANY_MONTH}\1(?:{_YEAR}|[0-9]{{2}}){tail}",
        rf"{any_month} ?{_DAYS}(?:, ?| )(?:{_YEAR}|['’][0-9]{{2}}){tail}",
        rf"{any_month}(?:,? (?:de |del |of )?|[-/]){_YEAR}{tail}",
        rf"{_FIRST_YEAR} (?:{_MONTH}|{_CAPITALISED_MONTH})\.? {_DAY}{_ORDINAL}?(?!\w|[.,][0-9]){_TIME}",
        rf"{_FIRST_DAY}(?:st|nd|rd|th) (?:of )?{_ANY_MONTH}{_TIME}",
        rf"{any_month} {_DAY}(?:st|nd|rd|th)\b{_TIME}",
        _first_name(_NAMES, "i", no_day) + day_last,
        _first_name(_CAPITALISED, "", no_day) + rf"\.?{day_last}",
        rf"{_FIRST_DAYS} {day_first}",
        # a word of other languages, which an article makes French
        rf"[ldaLDA](?<![{WORD}].)[euEU] (?P<entity>{_DAYS} (?i:mars){_NAME_END}{_TIME})",
        # where what seemed the first of two days was that of another month
        rf"{_FIRST_DAY}[.º°]? {day_first}",
        _first_name(_NAMES, "i", _NOT_COUNTED) + day_last,
        _first_name(_CAPITALISED, "", _NOT_COUNTED) + rf"\.?{day_last}",
    )
    return tuple(Form(_MONTH_SCREEN, re.compile(pattern)) for pattern in patterns)


DATE_FORMS: tuple[Form, ...] = (
    Form(
        r"[0-9]\. ?- ?[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{2}",
        re.compile(
            rf"[0-9](?<![0-9].)(?<![0-9][./-].)[0-9]?\. ?(?:{_MONTH_NUMBER}\.)? ?- ?{_DAY}\. ?{_MONTH_NUMBER}\. ?"
            rf"(?:{_YEAR}|[0-9]{{2}})(?![0-9]|[./-][0-9]){_TIME}"
        ),
    ),
    Form(
        "[0-9]{4}[-./][0-9]{1,2}[-./][0-9]",
        re.compile(rf"[12]{_AFTER_YEAR_FIRST}[0-9]{{3}}([-./])[0-9]{{1,2}}\1[0-9]{{1,2}}(?![0-9])(?:{_ZONE_OF_DAY}|{_TIME})"),
        _is_day,
    ),
    Form(
        "[0-9]{1,2} ?[-./] ?[0-9]{1,2} ?[-./] ?[0-9]{2}",
        re.compile(
            rf"[0-9]{_AFTER_YEAR_LAST}[0-9]?( ?[-./] ?)[0-9]{{1,2}}\1"
            rf"(?:[12][0-9]{{3}}(?:{_ZONE_OF_DAY}|{_BEFORE_YEAR_LAST}{_TIME})|[0-9]{{2}}{_NO_UNIT}{_BEFORE_YEAR_LAST}{_TIME})"
        ),
        _is_day,
    ),
    Form("[0-9]{8}T[0-9]", re.compile(rf"(?<![0-9A-Za-z])(?:19|20)[0-9]{{6}}(?=T[0-9]){_TIME}")),
    *_month_forms(),
)
"""All of them, in the order in which they are looked for."""
