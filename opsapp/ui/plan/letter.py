"""The morning letter: what it would say now, the last one, and when it goes where."""

from __future__ import annotations

from opsapp.healing.interfaces import LetterSettings

from .shape import Act, Page, Part, inputs

SETTINGS = "/api/healing/letter/settings"
SAVE = Act("save", "Save", f"PUT {SETTINGS}", inputs(LetterSettings), here=True, done="Saved.")

LETTER = (
    Page(
        "/healing/letter",
        "Morning letter",
        (
            Part("Letters", "/api/healing/letter", (), name="letters", facts=True, hidden=True),
            Part("Settings", SETTINGS, (), name="settings", facts=True, hidden=True, optional=True, acts=(SAVE,)),
        ),
        menu="Morning letter",
        template="letter.jinja2",
        lead="What was healed over night, what was held back and why, and what asks for people today.",
    ),
)
