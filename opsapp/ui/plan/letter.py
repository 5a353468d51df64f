"""The morning letter: what it would say now, the last one, and when it goes where."""

from __future__ import annotations

from opsapp.healing.interfaces import LetterSettings

from .shape import Page, inputs, save, told

SETTINGS = "/api/healing/letter/settings"
SAVE = save(f"PUT {SETTINGS}", inputs(LetterSettings))

LETTER = (
    Page(
        "/healing/letter",
        "Morning letter",
        (told("letters", "/api/healing/letter"), told("settings", SETTINGS, optional=True, acts=(SAVE,))),
        menu="Morning letter",
        template="letter.jinja2",
        lead="What was healed over night, what was held back and why, and what asks for people today.",
    ),
)
