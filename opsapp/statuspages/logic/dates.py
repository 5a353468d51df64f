"""Dates in words, in the page's languages. A browser with script says its own."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo


class DateWords(NamedTuple):
    months: tuple[str, ...]
    days: tuple[str, ...]  # from Monday, short


_WORDS = {
    "en": ("January February March April May June July August September October November December",
           "Mon Tue Wed Thu Fri Sat Sun"),
    "de": ("Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
           "Mo Di Mi Do Fr Sa So"),
    "fr": ("janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
           "lun. mar. mer. jeu. ven. sam. dim."),
    "es": ("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
           "lun mar mié jue vie sáb dom"),
    "it": ("gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
           "lun mar mer gio ven sab dom"),
    "nl": ("januari februari maart april mei juni juli augustus september oktober november december",
           "ma di wo do vr za zo"),
    "pl": ("styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień",
           "pon. wt. śr. czw. pt. sob. niedz."),
    "pt": ("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
           "seg ter qua qui sex sáb dom"),
}  # fmt: skip
LANGUAGES = tuple(_WORDS)


def words_of(language: str) -> DateWords:
    months, days = _WORDS[language]
    return DateWords(tuple(months.split()), tuple(days.split()))


def month_name(year: int, month: int, language: str) -> str:
    """`November 2026`"""
    return f"{words_of(language).months[month - 1]} {year}"


def day_name(seconds: float, zone: str, language: str) -> str:
    """`Sun 22`"""
    at = datetime.fromtimestamp(seconds, ZoneInfo(zone))
    return f"{words_of(language).days[at.weekday()]} {at.day}"


def clock(seconds: float, zone: str, language: str) -> str:
    """`22 November 2026, 14:10`"""
    at = datetime.fromtimestamp(seconds, ZoneInfo(zone))
    return f"{at.day} {words_of(language).months[at.month - 1]} {at.year}, {at:%H:%M}"


def exact(seconds: float, zone: str, language: str) -> str:
    """The same with seconds and the zone."""
    at = datetime.fromtimestamp(seconds, ZoneInfo(zone))
    return f"{words_of(language).days[at.weekday()]} {clock(seconds, zone, language)}:{at:%S} ({zone})"
