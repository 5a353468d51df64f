"""What is healed again and again, who looks for its cause, and until when. What is overdue the API says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import quote

from opsapp.healing.records import ProblemRecord
from opsapp.ui.choices import LinkChoice
from opsapp.ui.parts import LEDGER, PROBLEM, PROBLEMS
from opsapp.ui.reader import Answers, Reader, TemplateValues
from opsapp.ui.sentences import NameBook, heal, span, target_words
from opsapp.ui.words import local
from opsapp.wire.records import plain

DAY = 86_400
NAMELESS = NameBook()


class ProblemLine(NamedTuple):
    target: str
    href: str
    look: str
    state: str
    words: str
    quiet: str
    due: str
    row: dict[str, object]


def listing(answers: Answers, reader: Reader) -> TemplateValues:
    asked = reader.asked("state")
    shows = (("All", ""), ("Open", "open"), ("Accepted", "accepted"), ("Closed", "closed"))
    return {
        "problems": lines(answers[PROBLEMS], reader),
        "shows": tuple(
            LinkChoice(word, f"/healing/problems?state={state}" if state else "/healing/problems", asked == state)
            for word, state in shows
        ),
        "filtered": reader.asks("state", "owner", "rule_id", "target"),
    }


def single(answers: Answers, reader: Reader) -> TemplateValues:
    problem = answers[PROBLEM]
    told = line(problem, reader)
    return {
        "title": f"Problem: {target_words(problem.target)}",
        "it": told,
        "row": told.row | {"due": problem.due_day or "", "owner": problem.owner or ""},
        "heals": tuple(heal(entry, NAMELESS) for entry in answers[LEDGER]),
    }


def lines(problems: Iterable[ProblemRecord], reader: Reader) -> tuple[ProblemLine, ...]:
    return tuple(line(problem, reader) for problem in problems)


def open_lines(answers: Answers, reader: Reader) -> tuple[ProblemLine, ...]:
    return lines((problem for problem in answers[PROBLEMS] if problem.state != "closed"), reader)


def wants(problem: ProblemRecord, username: str) -> bool:
    """Whether somebody should look: it is theirs, nobody has it, or its date has passed."""
    if problem.state == "closed":
        return False
    unowned = problem.owner is None and problem.state == "open"
    return unowned or problem.owner == username or problem.overdue


def line(problem: ProblemRecord, reader: Reader) -> ProblemLine:
    look, state = state_of(problem)
    return ProblemLine(
        target_words(problem.target),
        f"/healing/problems/{quote(problem.id, safe='')}",
        look,
        state,
        sentence(problem),
        _quiet(problem, reader),
        _due(problem, reader),
        plain(problem) | {"me": reader.username},
    )


def state_of(problem: ProblemRecord) -> tuple[str, str]:
    if problem.overdue:
        return "bad", "Overdue"
    return {"open": ("warn", "Open"), "accepted": ("maint", "Accepted")}.get(problem.state, ("ok", "Closed"))


def sentence(problem: ProblemRecord) -> str:
    if problem.unreadable:
        return f"It cannot be read: {problem.unreadable}."
    heals = f"Healed {problem.heals} times in {span(problem.window_s).replace(' d', ' days')}"
    if problem.state == "closed":
        return f"{heals} before it was closed." if problem.heals else "It was quiet, and is closed."
    if not problem.heals:
        return "No heal lately, and nobody says that the cause is gone."
    return f"{heals}; the cause is still there."


def _quiet(problem: ProblemRecord, reader: Reader) -> str:
    if problem.last_at is None or problem.quiet_until is None or reader.now - problem.last_at < DAY:
        return ""
    ends = local(problem.quiet_until, reader.zone).strftime("%d %b")
    return f"Quiet for {span(reader.now - problem.last_at)}. It closes on {ends} if it stays so."


def _due(problem: ProblemRecord, reader: Reader) -> str:
    if problem.due is None or problem.state == "closed":
        return ""
    day = local(problem.due, reader.zone).strftime("%d %b %Y")
    if problem.overdue:
        return f"Was due on {day}. Until it is closed or has another date, its rule asks before it acts here."
    return f"Due on {day}."
