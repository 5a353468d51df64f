"""Problems in words: what is healed again and again, who looks for its cause, and until when.

Pure. Must not: judge; what is overdue the API says.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

from opsapp.lib.jsontypes import JsonObject
from opsapp.ui.reader import Answers, Reader
from opsapp.ui.sentences import NameBook, Sentence, heal, span, spoken_target
from opsapp.ui.words import local

DAY = 86_400
NAMELESS = NameBook()


class ProblemLine(NamedTuple):
    """One problem. `row` is for acts; `quiet` says when it closes by itself."""

    target: str
    href: str
    rule: str
    rule_href: str
    look: str
    state: str
    words: str
    quiet: str
    owner: str | None
    due: str
    note: str
    row: JsonObject


class ShownState(NamedTuple):
    word: str
    href: str
    here: bool


def listing(answers: Answers, reader: Reader) -> dict[str, object]:
    asked = reader.query.get("state", "")
    shows = (("All", ""), ("Open", "open"), ("Accepted", "accepted"), ("Closed", "closed"))
    return {
        "problems": lines(answers["problems"], reader),
        "shows": tuple(
            ShownState(word, f"/healing/problems?state={state}" if state else "/healing/problems", asked == state)
            for word, state in shows
        ),
        "filtered": any(reader.query.get(name) for name in ("state", "owner", "rule_id", "target")),
    }


def single(answers: Answers, reader: Reader) -> dict[str, object]:
    problem = answers["problem"]
    names = [row["username"] for row in answers["people"] or ()]
    told = line(problem, reader)
    return {
        "title": f"Problem: {spoken_target(problem['target'])}",
        "it": told,
        "row": {**told.row, "due": problem["due_day"] or "", "owner": problem["owner"] or ""},
        "choices": {"owner": sorted({*names, *([problem["owner"]] if problem["owner"] else [])})},
        "heals": tuple(_heal(entry) for entry in answers["ledger"] or ()),
    }


def _heal(entry: JsonObject) -> Sentence:
    return heal(entry, NAMELESS)


def lines(problems: list[JsonObject] | None, reader: Reader) -> tuple[ProblemLine, ...]:
    return tuple(line(problem, reader) for problem in problems or ())


def open_lines(problems: list[JsonObject] | None, reader: Reader) -> tuple[ProblemLine, ...]:
    """Those that are not closed: what another page says of its own thing."""
    return lines([problem for problem in problems or () if problem["state"] != "closed"], reader)


def wants(problem: JsonObject, username: str) -> bool:
    """Whether somebody should look: it is theirs, nobody has it, or its date has passed."""
    if problem["state"] == "closed":
        return False
    unowned = problem["owner"] is None and problem["state"] == "open"
    return unowned or problem["owner"] == username or bool(problem["overdue"])


def line(problem: JsonObject, reader: Reader) -> ProblemLine:
    look, state = state_of(problem)
    return ProblemLine(
        spoken_target(problem["target"]),
        f"/healing/problems/{quote(problem['id'], safe='')}",
        problem["rule_id"],
        f"/healing/rules/{quote(problem['rule_id'], safe='')}",
        look,
        state,
        sentence(problem),
        _quiet(problem, reader),
        problem["owner"],
        _due(problem, reader),
        problem["note"],
        {**problem, "me": reader.username},
    )


def state_of(problem: JsonObject) -> tuple[str, str]:
    if problem["overdue"]:
        return "bad", "Overdue"
    return {"open": ("warn", "Open"), "accepted": ("maint", "Accepted")}.get(problem["state"], ("ok", "Closed"))


def sentence(problem: JsonObject) -> str:
    """What is wrong: a heal that has to be done again and again."""
    if problem.get("unreadable"):
        return f"It cannot be read: {problem['unreadable']}."
    heals = f"Healed {problem['heals']} times in {span(problem['window_s']).replace(' d', ' days')}"
    if problem["state"] == "closed":
        return f"{heals} before it was closed." if problem["heals"] else "It was quiet, and is closed."
    if not problem["heals"]:
        return "No heal lately, and nobody says that the cause is gone."
    return f"{heals}; the cause is still there."


def _quiet(problem: JsonObject, reader: Reader) -> str:
    if problem["last_at"] is None or reader.now - problem["last_at"] < DAY:
        return ""
    ends = local(problem["quiet_until"], reader.zone).strftime("%d %b")
    return f"Quiet for {span(reader.now - problem['last_at'])}. It closes on {ends} if it stays so."


def _due(problem: JsonObject, reader: Reader) -> str:
    if problem["due"] is None or problem["state"] == "closed":
        return ""
    day = local(problem["due"], reader.zone).strftime("%d %b %Y")
    if problem["overdue"]:
        return f"Was due on {day}. Until it is closed or has another date, its rule asks before it acts here."
    return f"Due on {day}."
