"""The names of months in English, German, French, Spanish and Italian, as they stand in dates."""

from __future__ import annotations

MONTH_NAMES = (
    *("january", "february", "april", "june", "july", "august", "september", "october", "november", "december"),
    *("januar", "jänner", "februar", "feber", "märz", "mai", "juni", "juli", "oktober", "dezember"),
    *("janvier", "février", "fevrier", "avril", "juin", "juillet", "août", "aout", "septembre", "octobre", "novembre", "décembre", "decembre"),
    *("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "setiembre", "octubre", "noviembre", "diciembre"),
    *("gennaio", "febbraio", "aprile", "maggio", "giugno", "luglio", "settembre", "ottobre", "dicembre"),
)
"""Names that mean nothing else beside a day."""

MONTHS_WITH_YEAR = (
    *("march", "may", "mars", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"),
    *("jän", "mär", "mrz", "okt", "dez", "janv", "févr", "fév", "avr", "juil", "déc"),
    *("ene", "abr", "ago", "dic", "gen", "mag", "giu", "lug", "set", "ott"),
)
"""Names that are words of their own, and names cut short: a date with a year, or as the following say."""

MONTHS_CAPITALISED = (
    *("march", "may", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"),
    *("jän", "mär", "mrz", "okt", "dez", "janv", "févr", "fév", "avr", "juil", "déc"),
)
"""Those of them that are a month beside a day where they are written with a capital."""

MONTHS_CUT_SHORT = (
    *("march", "jan", "feb", "apr", "jun", "jul", "aug", "oct", "nov", "dec"),
    *("jän", "mrz", "okt", "dez", "janv", "févr", "fév", "avr", "juil", "déc"),
)
"""Those of them that are a month behind a day in small letters too."""
