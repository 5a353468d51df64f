"""The settings of the public status page: what stands in the forms, what is still lacking, who is told.

Pure. Must not: ask anybody.
"""

from __future__ import annotations

from opsapp.lib.jsontypes import JsonObject
from opsapp.ui.reader import Answers, Reader


def shape(answers: Answers, _reader: Reader) -> dict[str, object]:
    settings = answers["settings"]
    return {
        "row": settings,
        "logo": bool(settings.get("logo")),
        "lacking": _lacking(settings),
        "told": _told(answers["counts"] or {}),
    }


def own_shape(answers: Answers, _reader: Reader) -> dict[str, object]:
    page = answers["page"]
    return {"row": page, "title": page["name"]}


def _lacking(settings: JsonObject) -> str:
    lacking = settings.get("lacking")
    if not lacking:
        return ""
    words = lacking if isinstance(lacking, str) else "; ".join(map(str, lacking))
    return f"Visitors cannot subscribe yet. Still lacking: {words}."


def _told(counts: JsonObject) -> str:
    confirmed = counts.get("confirmed") or {}
    mail, webhook, pending = confirmed.get("mail", 0), confirmed.get("webhook", 0), counts.get("pending", 0)
    if not mail and not webhook and not pending:
        return "Nobody has subscribed yet."
    waiting = counts.get("waiting", 0)
    messages = f" {waiting} messages wait." if waiting else ""
    return f"{mail} by mail and {webhook} by webhook. {pending} have not confirmed yet.{messages}"
