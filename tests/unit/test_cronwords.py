"""Schedules in words: what is said, what is not, and that the words mean what the expression does."""

import re
from datetime import datetime, timedelta, timezone
from itertools import islice, product

import pytest

from opsapp.lib import cron
from opsapp.lib.cronwords import MONTHS, WEEKDAYS, in_words

SAID = {
    "0 3 * * 0": "Every Sunday at 03:00",
    "0 3 * * 7": "Every Sunday at 03:00",
    "*/15 * * * *": "Every 15 minutes",
    "* * * * *": "Every minute",
    "@hourly": "Every hour",
    "5 * * * *": "Every hour at minute 5",
    "30 */6 * * *": "Every 6 hours from 00:30",
    "@daily": "Every day at 00:00",
    "5 3,15 * * *": "Every day at 03:05 and 15:05",
    "0 3 * * mon-fri": "Monday to Friday at 03:00",
    "0 3 * * sat,sun": "Every Sunday and Saturday at 03:00",
    "0 4 1 * *": "On day 1 of every month at 04:00",
    "0 4 1,8,15 * *": "On days 1, 8 and 15 of every month at 04:00",
    "0 4 31 * *": "On day 31 of every month that has it at 04:00",
    "0 0 1 1 *": "Every year on 1 January at 00:00",
    "0 0 29 feb *": "Every year that has it on 29 February at 00:00",
}
UNSAID = ["*/7 * * * *", "0 */5 * * *", "0 3 1 * 1", "0 3 * * 5#2", "0 3 l * *", "0 9-17 * * *", "*/15 9 * * *",
          "0 3 30,31 * *", "0 3 1 1,7 *", "0 3 * 6 *", "0 3 * 6 1", "0,30 3 * * *", "0 * * * 1"]  # fmt: skip
MINUTES = ["*", "*/1", "*/7", "*/15", "0", "59", "0,30"]
HOURS = ["*", "*/5", "*/6", "0", "23", "3,15", "9-17"]
DAYS, MONTH_FIELDS = ["*", "1", "31", "1,15", "29,31", "*/2"], ["*", "2", "feb", "1,7"]
WEEKDAY_FIELDS = ["*", "0", "7", "mon", "1-5", "0-6", "sat,sun", "5#2", "fri-sun"]


@pytest.mark.parametrize(("expression", "words"), SAID.items())
def test_it_is_said(expression, words):
    assert in_words(cron.parse(expression)) == words


@pytest.mark.parametrize("expression", UNSAID)
def test_nothing_is_said_of_what_takes_more_than_a_sentence(expression):
    assert in_words(cron.parse(expression)) is None


def clock(text):
    hour, minute = text.split(":")
    return int(hour) * 60 + int(minute)


def minutes_of_day(words):
    """When on a day it comes, as the words say."""
    if words == "Every minute":
        return range(1440)
    if step := re.fullmatch(r"Every (\d+) minutes", words):
        return range(0, 1440, int(step[1]))
    if hourly := re.fullmatch(r"Every hour(?: at minute (\d+))?", words):
        return range(int(hourly[1] or 0), 1440, 60)
    if step := re.fullmatch(r"Every (\d+) hours from (00:\d\d)", words):
        return range(clock(step[2]), 1440, int(step[1]) * 60)
    return [clock(text) for text in re.findall(r"\d\d:\d\d", words)]


def is_meant(words, day):
    """Whether it comes on this day, as the words say."""
    on = words.partition(" at 0")[0].partition(" at 1")[0].partition(" at 2")[0]
    weekday = WEEKDAYS[(day.weekday() + 1) % 7]
    if span := re.fullmatch(r"(\w+day) to (\w+day)", on):
        return WEEKDAYS.index(span[1]) <= WEEKDAYS.index(weekday) <= WEEKDAYS.index(span[2])
    if year := re.fullmatch(r"Every year (?:that has it )?on (\d+) (\w+)", on):
        return (day.day, MONTHS[day.month - 1]) == (int(year[1]), year[2])
    if month := re.fullmatch(r"On days? (.*) of every month(?: that has it)?", on):
        return str(day.day) in re.findall(r"\d+", month[1])
    return weekday in on if re.search(r"\w+day", on) and on != "Every day" else True


def times(words, after):
    day = after.replace(hour=0, minute=0)
    while True:
        if is_meant(words, day):
            moments = (day + timedelta(minutes=minute) for minute in minutes_of_day(words))
            yield from (moment.timestamp() for moment in moments if moment > after)
        day += timedelta(days=1)


def following(expression, after):
    at = after.timestamp()
    while True:
        at = cron.next_time(expression, "UTC", at)
        yield at


def test_the_words_mean_what_the_expression_does():
    """Against croniter: each time, over some years where it comes seldom."""
    said, utc = set[str](), timezone.utc
    starts = [datetime(2027, 12, 31, 23, 58, tzinfo=utc), datetime(2024, 2, 27, tzinfo=utc)]
    for fields in product(MINUTES, HOURS, DAYS, MONTH_FIELDS, WEEKDAY_FIELDS):
        expression = " ".join(fields)
        words = in_words(expression)  # first: of most there are none, and to judge an expression takes longer
        if words is None or cron.problem(expression):
            continue
        assert cron.parse(expression) == expression
        said.add(words)
        for start in starts:
            assert list(islice(times(words, start), 5)) == list(islice(following(expression, start), 5)), expression
    assert len(said) > 60
