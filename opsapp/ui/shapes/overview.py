"""The first page: what is wrong, what needs its reader, what the machine does, what breaks next, what happened. What
nobody knows is never counted as well."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import NamedTuple

from markupsafe import Markup

from opsapp.healing.answers import SuggestionRecord
from opsapp.healing.health_answers import HoldRecord
from opsapp.healing.overview_answers import CaseUnderWay, Overview, Trouble
from opsapp.healing.records import ProblemRecord
from opsapp.monitoring.records import CertificateEnd
from opsapp.ui.charts import Bar, bars
from opsapp.ui.parts import APPROVALS, DELIVERIES, FORECASTS, MONITORS, OVERVIEW, PROBLEMS, SUGGESTIONS
from opsapp.ui.reader import Answers, Reader, TemplateValues, merged
from opsapp.ui.sentences import NameBook, Sentence, Word, case, count, listed, place_of, said, sentence_of

from . import foresight, happened, holds, monitorlist, problems
from .requests import Question, cards, question
from .stands import below, heading, is_new, is_well, names_of

STAGES = ("Correlate", "Plan", "Execute", "Verify", "Record", "Trust")
ACTIVE = "Active"
WORD = {"down": "Down", "degraded": "Degraded", "unknown": "Unknown", "alert": ACTIVE, "event": "Open"}
MOST_LINES, MOST_UNDER, MOST_PROBLEMS, MOST_ASKED, MOST_WORKS = 5, 8, 3, 2, 3
ALL_MONITORS, WORST_MONITORS = 12, 6  # of few each is shown, of many the worst
ALIKE = 3  # so many that are alike are one line
Joined = list[Trouble]  # what is one line: alerts about one target, or a single trouble


class UnderLine(NamedTuple):
    name: Word
    words: str


class WrongLine(NamedTuple):
    """`trouble` is for the act of taking it; several that are alike have none."""

    trouble: Trouble | None
    state: str
    name: Word
    cause: Sentence
    word: str
    since: int | None
    chip: str = ""
    chip_kind: str = ""
    room: str = ""
    why: Word | str = ""
    day: Markup = Markup("")
    under: tuple[UnderLine, ...] = ()
    more_under: int = 0
    under_look: str = "hid"  # held down by this; or, of several that are alike, their own state
    under_label: str = ""
    counts: int = 1  # so many troubles are told by it


class NeedLine(NamedTuple):
    words: Sentence
    row: SuggestionRecord | None = None


class Pip(NamedTuple):
    name: str
    state: str  # passed, now or ahead


class WorkLine(NamedTuple):
    name: tuple[Word, ...]
    words: Sentence
    next: str
    due: int | None
    pips: tuple[Pip, ...]
    row: CaseUnderWay


def standing(answers: Answers, reader: Reader) -> TemplateValues:
    overview = answers[OVERVIEW]
    mine = sum(request.mine for request in _asked(answers, reader))
    return {
        "heading": heading(overview, mine),
        "sub": below(overview),
        "empty": is_new(overview),
        "holds": holds.lines(overview.holds),
        "is_here": any(is_mine(hold, reader) for hold in overview.holds),
    }


def is_mine(hold: HoldRecord, reader: Reader) -> bool:
    """Whether its reader is who is here."""
    return bool(hold.kind == "here" and hold.by == reader.username)


def wrong(answers: Answers, reader: Reader) -> TemplateValues:
    overview = answers[OVERVIEW]
    lines = lines_of(overview, _names(answers))
    lines, rest = lines[:MOST_LINES], lines[MOST_LINES:]
    return {
        "empty": is_new(overview),
        "well": is_well(overview),
        "troubles": lines,
        "wrong_more": max(0, overview.troubles_total - sum(line.counts for line in lines)),
        "more_alerts": rest and all(line.word == ACTIVE for line in rest),
    }


def side(answers: Answers, reader: Reader) -> TemplateValues:
    overview = answers[OVERVIEW]
    names = _names(answers)
    asked = cards(_asked(answers, reader))
    works = [work for work in overview.cases if _is_work(work)]
    return {
        "asked": asked[:MOST_ASKED],
        "asked_more": sum(len(card.members) for card in asked[MOST_ASKED:]),
        "needs": _needs(answers, overview, reader),
        "works": [_work(work, names) for work in works[:MOST_WORKS]],
        "works_count": len(works),
        "next": foresight.breaks_next(overview.next, answers[FORECASTS], reader),
    }


def monitors(answers: Answers, reader: Reader) -> TemplateValues:
    lines = monitorlist.lines(answers[MONITORS])
    return {"monitors": lines if len(lines) <= ALL_MONITORS else lines[:WORST_MONITORS]}


def feed(answers: Answers, reader: Reader) -> TemplateValues:
    return {"feed": happened.feed(answers, _names(answers), reader)}


shape = merged(standing, wrong, side, monitors, feed)


def _names(answers: Answers) -> NameBook:
    return names_of(answers[OVERVIEW])


def _asked(answers: Answers, reader: Reader) -> list[Question]:
    names = _names(answers)
    return [question(record, names, reader) for record in answers[APPROVALS]]


def lines_of(overview: Overview, names: NameBook) -> list[WrongLine]:
    """Root causes, each with what hangs on it. What hangs on something that is not shown stands by itself."""
    troubles = overview.troubles
    shown = {trouble.name for trouble in troubles if not trouble.root_cause}
    tops = joined(trouble for trouble in troubles if trouble.root_cause not in shown)
    cases = {work.target: work for work in overview.cases}
    under = {top.name: [trouble for trouble in troubles if trouble.root_cause == top.name] for top, *_ in tops}
    busy = {name for name, below in under.items() if below} | set(cases)
    return [
        _line(alike[0], under[alike[0][0].name], cases, names) if len(alike) < ALIKE else _several(alike, names)
        for alike in gathered(tops, busy)
    ]


def gathered(tops: list[Joined], busy: Collection[str]) -> list[list[Joined]]:
    """Alike ones together where they are many: monitors unknown without a reason, as after a start, and alerts of one
    rule on one host. `busy` ones, on which something hangs or whose case is open, stand for themselves."""
    groups: dict[tuple[str, ...], list[Joined]] = {}
    for top in tops:
        groups.setdefault(("",) if top[0].name in busy else _kind_of(top), []).append(top)
    many = {id(alike[0]): alike for kind, alike in groups.items() if kind[0] and len(alike) >= ALIKE}
    told = {id(top) for alike in many.values() for top in alike[1:]}
    return [many.get(id(top), [top]) for top in tops if id(top) not in told]


def _kind_of(joined: Joined) -> tuple[str, ...]:
    top = joined[0]
    if top.kind == "alert" and len(joined) == 1:
        return "alert", str(top.rule_id), top.cause, top.name.partition("/")[0]
    unexplained = top.kind == "monitor" and top.status == "unknown" and not (top.cause or top.incident_id)
    return ("unknown",) if unexplained else ("",)


def _several(alike: list[Joined], names: NameBook) -> WrongLine:
    troubles = [trouble for trouble, *_ in alike]
    first = troubles[0]
    alerts = first.kind == "alert"
    host = "".join(word.text for word in names.host(first.name.partition("/")[0]))
    title = Word(f"{len(alike)} alerts on {host}") if alerts else Word(count(len(alike), "monitor"), "/monitors")
    return WrongLine(
        None,
        first.status,
        title,
        said(None, "", _held(first) if alerts else "They have not been checked lately."),
        WORD["alert" if alerts else first.status],
        min((trouble.since for trouble in troubles if trouble.since), default=None),
        under=tuple(UnderLine(_named(trouble, names, case_of(trouble)), "") for trouble in troubles[:MOST_UNDER]),
        more_under=max(0, len(alike) - MOST_UNDER),
        under_look=first.status,
        under_label=f"The {title.text}",
        counts=sum(map(len, alike)),
    )


def _alike(top: Trouble, names: NameBook) -> WrongLine:
    title = count(top.alike, top.kind)
    others = [replace(top, id=other.id, name=other.name, incident_id=other.incident_id) for other in top.others]
    return WrongLine(
        None,
        top.status,
        Word(title, "/agents" if top.kind == "host" else "/incidents" if top.incident_id else "/monitors"),
        _cause([top]),
        WORD[top.status],
        top.since,
        under=tuple(UnderLine(_named(trouble, names, room_of(trouble)), "") for trouble in (top, *others)),
        more_under=top.alike - len(others) - 1,
        under_look=top.status,
        under_label=f"The {title}",
        counts=top.alike,
    )


def joined(troubles: Iterable[Trouble]) -> list[Joined]:
    """Alerts of several rules about one target are one line, the worst first."""
    groups: dict[tuple[str, str], Joined] = {}
    for number, trouble in enumerate(troubles):
        key = (trouble.kind, trouble.name) if trouble.kind == "alert" else ("", str(number))
        groups.setdefault(key, []).append(trouble)
    return list(groups.values())


def _line(joined: Joined, below: list[Trouble], cases: dict[str, CaseUnderWay], names: NameBook) -> WrongLine:
    top = joined[0]
    if top.alike > 1:
        return _alike(top, names)
    work = cases.get(top.name)
    chip, kind = ("Root cause", "bad") if below else ("", "")
    if work is not None and work.state == "awaiting_approval":
        chip, kind = "Waits for a decision", "warn"
    elif work is not None:
        chip, kind = f"Healing, stage {work.stage + 1} of {len(STAGES)}", "heal"
    room = room_of(top)
    return WrongLine(
        top,
        top.status,
        _named(top, names, room),
        _cause(joined),
        WORD[top.kind if top.kind in ("alert", "event") else top.status],
        top.since,
        chip,
        kind,
        room,
        case(top.case_id),
        bars([Bar(status) for status in top.last_day], f"{top.name}, 24 hours") if top.last_day else Markup(""),
        tuple(_under(trouble, names) for trouble in below[:MOST_UNDER]),
        sum(trouble.alike for trouble in below[MOST_UNDER:]),
        counts=len(joined) + sum(trouble.alike for trouble in below),
    )


def room_of(trouble: Trouble) -> str:
    return place_of("incident", trouble.incident_id) if trouble.incident_id else ""


def case_of(trouble: Trouble) -> str:
    return place_of("healing.case", trouble.case_id) if trouble.case_id else ""


def _named(trouble: Trouble, names: NameBook, room: str) -> Word:
    if trouble.kind == "alert":
        words = names.target(trouble.name)
        place = room or next((word.href for word in words if word.href), "")
        return Word("".join(word.text for word in words), place)
    kind = "agent" if trouble.kind == "host" else "monitor"
    return Word(trouble.name, room or place_of(kind, str(trouble.id)))


def _cause(joined: Joined) -> Sentence:
    top = joined[0]
    if top.kind == "host":
        whose = "agent on this host does" if top.alike == 1 else "agents on these hosts do"
        why = sentence_of(top.cause) or f"The {whose} not report."
        return said(None, "", f"{why} What runs there is unknown.")
    needs = f" Needs {top.root_cause}." if top.root_cause else ""
    if top.kind == "alert":
        told = [_held(top), *((Word(" "), *_held(same)) for same in joined[1:])]
        return said(None, "", *told, needs)
    if top.status == "unknown":
        have = "It has" if top.alike == 1 else "They have"
        return said(None, "", sentence_of(top.cause) or f"{have} not been checked lately.")
    return said(None, "", sentence_of(top.cause) or "The check failed without a reason.", needs)


def _held(alert: Trouble) -> tuple[Word, ...]:
    rule_id = str(alert.rule_id)
    rule = Word(rule_id, place_of("healing.rule", rule_id))
    return Word("Rule "), rule, Word(f": {alert.cause.removesuffix('.')}.")


def _under(trouble: Trouble, names: NameBook) -> UnderLine:
    waits = "Its own healing waits" if trouble.alike == 1 else "Their own healing waits"
    words = f"{WORD.get(trouble.status, 'wrong').lower()}, needs {trouble.root_cause}. {waits}."
    several = Word(count(trouble.alike, trouble.kind), "/incidents")
    return UnderLine(several if trouble.alike > 1 else _named(trouble, names, room_of(trouble)), words)


def _needs(answers: Answers, overview: Overview, reader: Reader) -> list[NeedLine]:
    """What wants a person and is no request: a step in time saves an incident."""
    lines = [_certificate(certificate) for certificate in overview.certificates]
    wanting = [row for row in answers[PROBLEMS] if problems.wants(row, reader.username)]
    lines += [_problem(row, reader) for row in wanting[:MOST_PROBLEMS]]
    for suggestion in answers[SUGGESTIONS][:3]:
        place = Word("See", "/healing/suggestions")
        words = said(suggestion.created_at, "icon:bulb", sentence_of(suggestion.message), " ", place)
        lines.append(NeedLine(words, suggestion))
    failed = answers[DELIVERIES]
    if failed:
        names = listed(sorted({delivery.channel for delivery in failed}))
        messages = count(len(failed), "message", "messages")
        words = said(0, "bad", f"{messages} could not be delivered by {names}. ", Word("See", "/notifications"))
        lines.append(NeedLine(words))
    return lines


def _problem(row: ProblemRecord, reader: Reader) -> NeedLine:
    line = problems.line(row, reader)
    whose = "It is yours. " if row.owner == reader.username else "Nobody has it. " if row.owner is None else ""
    words = said(row.opened_at, line.look, Word(line.target, line.href), f": {line.words} {whose}", line.due)
    return NeedLine(words)


def _certificate(certificate: CertificateEnd) -> NeedLine:
    name = Word(certificate.name, place_of("monitor", certificate.id))
    days = certificate.days
    told = f" ends in {count(days, 'day')}." if days >= 0 else " has ended."
    look = "bad" if days < 3 else "warn"
    return NeedLine(said(0, look, "The certificate of ", name, told))


def _is_work(work: CaseUnderWay) -> bool:
    """What waits for people is asked elsewhere; what they agreed to may be left alone first."""
    return work.state != "awaiting_approval" or work.left_until is not None


def _work(work: CaseUnderWay, names: NameBook) -> WorkLine:
    state, stage = work.state, work.stage
    states = ["passed"] * stage + ["now"] + ["ahead"] * (len(STAGES) - stage - 1)
    pips = tuple(map(Pip, STAGES, states))
    did: tuple[Word, ...] = ()
    if work.action:
        did = (Word(f"{work.action} {work.params}".strip(), code=True),)
        did += (Word(" on "), *names.host(work.hostname)) if work.hostname else ()
    told = {
        "correlating": ("It looks for the root cause.",),
        "planning": ("It waits for its turn." if work.waits else "It chooses what to do.",),
        "executing": (did, " runs."),
        "settling": (did, " was done. It waits for the effect."),
        "verifying": (did, " was done. It measures again."),
    }
    if work.left_until is not None:
        told[state] = ("It is left alone first.",)
    step = f"Step {work.step + 1} of {work.steps}" if work.steps else ""
    after = f"then {work.then[0].action} {work.then[0].params}".strip() if work.then else "then people are told"
    return WorkLine(
        names.target(work.target),
        said(None, "", *told.get(state, (sentence_of(str(state)),))),
        " · ".join(fact for fact in (step, after) if fact),
        work.due if state in ("settling", "verifying") else work.left_until,
        pips,
        work,
    )
