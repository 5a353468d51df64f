"""Moves rows of a form, for the generic forms and the rule editor."""

from __future__ import annotations

from typing import TypeVar

Row = TypeVar("Row")


def moved(rows: list[Row], verb: str, number: str) -> list[Row]:
    """The rows after `remove`, `up` or `down` of the row with this number."""
    at = int(number) if number.isdecimal() and int(number) < len(rows) else None
    if at is None:
        return rows
    if verb == "remove":
        return rows[:at] + rows[at + 1 :]
    other = {"up": at - 1, "down": at + 1}.get(verb, at)
    if 0 <= other < len(rows):
        rows[at], rows[other] = rows[other], rows[at]
    return rows
