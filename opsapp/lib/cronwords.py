"""Cron expressions in words: those that one short sentence says whole.

From the five fields, as `lib.cron.parse` gives them. Must not: know a time zone, or when it comes.
"""

from __future__ import annotations

import re

from .enumerated import listed

WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")  # fmt: skip
SHORTEST_MONTH = 28
_STEP = re.compile(r"\*(?:/([0-9]{1,2}))?")
_RANGE = re.compile(r"(\w+)-(\w+)")


def in_words(fields: str) -> str | None:
    """`0 3 * * 0` is every Sunday at 03:00. None: it takes more than a sentence."""
    minute, hour, day, month, weekday = fields.split()
    if (day, month, weekday) == ("*", "*", "*") and (minute.startswith("*") or hour.startswith("*")):
        return _often(minute, hour)
    on, hours = _on(day, month, weekday), _numbers(hour, 23)
    if on is None or not hours or not minute.isdecimal():
        return None
    return f"{on} at {listed([f'{at:02}:{int(minute):02}' for at in sorted(set(hours))])}"


def _often(minute: str, hour: str) -> str | None:
    """What comes several times a day, at the same distance."""
    if hour == "*" and minute.startswith("*"):
        step = _step(minute, 60)
        return f"Every {step} minutes" if step and step > 1 else "Every minute" if step else None
    step = _step(hour, 24)
    if not step or not minute.isdecimal():
        return None
    if step > 1:
        return f"Every {step} hours from 00:{int(minute):02}"
    return f"Every hour at minute {int(minute)}" if int(minute) else "Every hour"


def _step(field: str, whole: int) -> int | None:
    """The step of `*` or `*/n` where the steps are equal around the whole; else None."""
    match = _STEP.fullmatch(field)
    step = int(match[1] or 1) if match else 0
    return step if 0 < step < whole and whole % step == 0 else None


def _on(day: str, month: str, weekday: str) -> str | None:
    """The words for the days; with a day and a weekday cron means either, so nothing is said of that."""
    if (day, month) == ("*", "*"):
        return "Every day" if weekday == "*" else _weekdays(weekday)
    days = _numbers(day, 31)
    if weekday != "*" or not days or min(days) < 1:
        return None
    numbers = sorted(set(days))
    if month == "*":
        which = "" if numbers[-1] <= SHORTEST_MONTH else " that has it"
        days_said = f"days {listed([str(number) for number in numbers])}" if len(numbers) > 1 else f"day {numbers[0]}"
        return None if which and len(numbers) > 1 else f"On {days_said} of every month{which}"
    months = _numbers(month, 12, MONTHS)
    if not months or len(months) > 1 or len(numbers) > 1 or not months[0]:
        return None
    leap = "that has it " if (numbers[0], months[0]) == (29, 2) else ""
    return f"Every year {leap}on {numbers[0]} {MONTHS[months[0] - 1]}"


def _weekdays(field: str) -> str | None:
    span = _RANGE.fullmatch(field)
    if span:
        ends = [_number(end, 6, WEEKDAYS) for end in span.groups()]
        first, last = ends
        return f"{WEEKDAYS[first]} to {WEEKDAYS[last]}" if first is not None and last and first < last else None
    days = _numbers(field, 7, WEEKDAYS)
    return f"Every {listed([WEEKDAYS[day] for day in sorted({day % 7 for day in days})])}" if days else None


def _numbers(field: str, most: int, names: tuple[str, ...] = ()) -> list[int] | None:
    """The numbers of a list with commas; None where a part is no number."""
    numbers = [_number(part, most, names) for part in field.split(",")]
    return [number for number in numbers if number is not None] if None not in numbers else None


def _number(text: str, most: int, names: tuple[str, ...] = ()) -> int | None:
    short = [name[:3].lower() for name in names]
    if text in short:
        return short.index(text) + (names is MONTHS)
    return int(text) if text.isdecimal() and int(text) <= most else None
