"""What a page that is a draft asks the API, and how it is saved.

Plain values. Must not: know a page, ask anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from opsapp.lib.jsontypes import JsonObject

from .reader import Answers


class Call(NamedTuple):
    """What a button of a page calls that is no act of the plan: its words, and "POST /api/…"."""

    label: str
    api: str


class Question(NamedTuple):
    """What the API is asked about what is filled in and not saved. The page knows the answer by `name`."""

    name: str
    api: str
    body: JsonObject


class Draft(NamedTuple):
    """What makes a page a draft: its form is drawn again, with answers about what is filled in, until it is saved.
    Both functions get the form and what the address names. `questions` is called once more with the answers that it led
    to: some questions follow from others. `goes` is where one is after saving."""

    questions: Callable[[Mapping[str, str], Mapping[str, str], Answers], tuple[Question, ...]]
    save: Callable[[Mapping[str, str], Mapping[str, str]], Question] | None = None
    goes: str = ""
    apis: tuple[Call, ...] = ()  # what it may ask or save by
