"""The settings of the public status page, what is still lacking, who has subscribed."""

from __future__ import annotations

from opsapp.statuspages.records import OwnPageRecord, PageRecord
from opsapp.ui.parts import COUNTS, OWN_PAGE, STATUS_PAGE
from opsapp.ui.reader import Answers, Reader, TemplateValues


def shape(answers: Answers, _reader: Reader) -> TemplateValues:
    settings = answers[STATUS_PAGE]
    return {"row": settings, "logo": bool(settings.logo), "lacking": _lacking(settings), "subscribed": answers[COUNTS]}


def own_shape(answers: Answers, _reader: Reader) -> TemplateValues:
    page = answers[OWN_PAGE]
    return {"row": page, "title": page.name, "who": _who(page), "lacking": _lacking(page)}


def _who(page: OwnPageRecord) -> str:
    if page.has_password:
        return "Who says the password."
    return "Nobody: it has no password yet." if page.protected else "Everybody who knows its address."


def _lacking(settings: PageRecord | OwnPageRecord) -> str:
    lacking = "; ".join(settings.lacking)
    return f"Visitors cannot subscribe yet. Still lacking: {lacking}." if lacking else ""
