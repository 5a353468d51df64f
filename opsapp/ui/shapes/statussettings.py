"""The settings of the public status page, what is still lacking, who is told."""

from __future__ import annotations

from opsapp.statuspages.records import OwnPageRecord, PageRecord, SubscriptionCounts
from opsapp.ui.parts import COUNTS, OWN_PAGE, STATUS_PAGE
from opsapp.ui.reader import Answers, Reader


def shape(answers: Answers, _reader: Reader) -> dict[str, object]:
    settings = answers[STATUS_PAGE]
    return {"row": settings, "logo": bool(settings.logo), "lacking": _lacking(settings), "told": _told(answers[COUNTS])}


def own_shape(answers: Answers, _reader: Reader) -> dict[str, object]:
    page = answers[OWN_PAGE]
    return {"row": page, "title": page.name, "who": _who(page), "lacking": _lacking(page)}


def _who(page: OwnPageRecord) -> str:
    if page.has_password:
        return "Who says the password."
    return "Nobody: it has no password yet." if page.protected else "Everybody who knows its address."


def _lacking(settings: PageRecord | OwnPageRecord) -> str:
    lacking = "; ".join(settings.lacking)
    return f"Visitors cannot subscribe yet. Still lacking: {lacking}." if lacking else ""


def _told(counts: SubscriptionCounts) -> str:
    mail, webhook = (counts.confirmed.get(kind, 0) for kind in ("mail", "webhook"))
    if not mail and not webhook and not counts.pending:
        return "Nobody has subscribed yet."
    messages = f" {counts.waiting} messages wait." if counts.waiting else ""
    return f"{mail} by mail and {webhook} by webhook. {counts.pending} have not confirmed yet.{messages}"
