"""What a page that is a draft asks the API, and how it is saved. Plain values. Must not: ask anybody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from opsapp.lib.jsontypes import JsonObject

from .reader import Answers


class Call(NamedTuple):
    """What a button calls that is no act of the plan: its words, and "POST /api/…"."""

    label: str
    api: str


class Question(NamedTuple):
    """About what is filled in and not saved. The page knows the answer by `name`."""

    name: str
    api: str
    body: JsonObject


class Draft(NamedTuple):
    """Its form is drawn again, with answers, until it is saved. Both functions get the form and what the address names.
    `questions` is called once more with its answers: some questions follow from others. `goes`: where one is after
    saving."""

    questions: Callable[[Mapping[str, str], Mapping[str, str], Answers], tuple[Question, ...]]
    save: Callable[[Mapping[str, str], Mapping[str, str]], Question] | None = None
    goes: str = ""
    apis: tuple[Call, ...] = ()  # what it may ask or save by
