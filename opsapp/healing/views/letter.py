"""/api/healing/letter: what the morning letter says, the last one, and when it goes where."""

from __future__ import annotations

from pyramid.request import Request

from opsapp.healing.engine import letters
from opsapp.healing.letters import LetterSchedule, LetterSettings, LettersShown, ScheduleUpdated
from opsapp.healing.resources import Healing
from opsapp.tree.folder import Facet, add_facet
from opsapp.tree.root import root_above
from opsapp.web import api
from opsapp.wire.records import changed, plain


class MorningLetter(Facet):
    """/api/healing/letter"""

    url = "/api/healing/letter"


class LetterSchedulePlace(Facet):
    """/api/healing/letter/settings"""

    url = "/api/healing/letter/settings"


add_facet(Healing, "letter", MorningLetter)
add_facet(MorningLetter, "settings", LetterSchedulePlace)


@api.get(MorningLetter, returns=LettersShown)
def show(context: MorningLetter, request: Request) -> LettersShown:
    """What a letter would say now, of all since the last one, and the last one that there was."""
    root = root_above(context)
    shown = LettersShown(letters.written(root, request.now), letters.book_of(root).last)
    return request.shown(shown)


@api.get(LetterSchedulePlace, role="admin", returns=LetterSchedule)
def schedule(context: LetterSchedulePlace, request: Request) -> LetterSchedule:
    """When the letter goes to which channel."""
    return letters.schedule(request.root, request.now)


@api.update(
    LetterSchedulePlace,
    role="admin",
    body=LetterSettings,
    read_only=LetterSchedule,
    returns=ScheduleUpdated,
    audit="healing.letter.update",
)
def change(context: LetterSchedulePlace, request: Request) -> ScheduleUpdated:
    """Changes what is given, and leaves the rest. An hour of today that is over comes tomorrow for the first time."""
    now = request.now
    before = plain(letters.schedule(request.root, now), LetterSettings)
    letters.change(request.root, changed(letters.book_of(request.root).settings, request.valid_body), now)
    after = letters.schedule(request.root, now)
    request.audit("healing.letter.update", "morning letter", before=before, after=plain(after, LetterSettings))
    return ScheduleUpdated(**vars(after))
