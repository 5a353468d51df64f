"""Incidents as a list, and the war room of one, with this incident's cases only, newest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from opsapp.healing.answers import CaseWave, LedgerEntryShown
from opsapp.healing.overview_answers import Overview
from opsapp.monitoring.alike import alike
from opsapp.monitoring.records import IncidentNote, IncidentRecord, SuggestedRemedy, WarRoom, WarRoomEvent
from opsapp.statuspages.engine import STAGE_WORDS
from opsapp.ui import sentences
from opsapp.ui.parts import APPROVALS, INCIDENTS, NOTICES, OPEN, OVERVIEW, ROOM
from opsapp.ui.reader import BEFORE, Answers, Reader, TemplateValues, merged
from opsapp.ui.sentences import STAGES, NameBook, Sentence, Word, count, listed, place_of, said, sentence_of
from opsapp.ui.words import on_pages
from opsapp.wire.dataclass import frozen
from opsapp.wire.records import made
from opsapp.wire.spoken import spoken_action

from . import moment
from .case import wave_words
from .requests import Question, question

TEMPLATES = {
    "investigating": "We have noticed that {name} does not work as it should. We are looking into it.",
    "identified": "We know what causes the trouble with {name}, and we are working on it.",
    "monitoring": "{name} works again. We keep watching it.",
    "resolved": "{name} works as usual again. We are sorry for the trouble.",
}
LOOKS = {  # of an outcome on the timeline: (colour, sign)
    "verified": ("ok", "check"),
    "failed": ("bad", "x"),
    "lost": ("bad", "x"),
    "rolled_back": ("warn", "again"),
    "inconclusive": ("warn", "help"),
    "suppressed": ("", "graph"),
}
BESIDE = {"down": 0, "degraded": 1, "unknown": 2}  # which of the monitors beside it one wants to see first
PUBLIC = "public"  # the tag of monitors that the status page shows
ACTS, UPDATES = "acts", "updates"
SHOWS = (("All", "", ""), ("Acts", "?show=acts", ACTS), ("Updates", "?show=updates", UPDATES))


FILTERS = ("q", "status", "severity", "kind", "tag", "owner", "monitor_id")
MOST_LINES = MOST_MEMBERS = 100  # of what is open; the list of all that is open has pages
MOST_PAST = 20  # members of one line of what is over; each stands alone where the reader asks for it
EACH = "each"
RECENT = 40  # entries of a timeline that are not folded


@frozen(kw_only=True)
class HealOfIncident(LedgerEntryShown):
    wave: CaseWave | None = None


class TimelineItem(NamedTuple):
    at: int
    colour: str
    icon: str
    title: Sentence
    words: str = ""
    ask: Question | None = None

    @property
    def then(self) -> str:
        return f"?at={moment.iso(self.at, seconds=True)}#moment"


class IncidentLine(NamedTuple):
    """One, or several that are alike and began together. `until` is the last end."""

    rows: tuple[IncidentRecord, ...]

    @property
    def members(self) -> tuple[IncidentRecord, ...]:
        return self.rows[: MOST_MEMBERS if self.rows[0].is_open else MOST_PAST]

    @property
    def rest(self) -> str:
        """Where all of them are, each by itself: the list goes on before an id, so from a greater one on it has it."""
        if self.rows[0].is_open:
            return "/incidents?status=open"
        return f"/incidents?{urlencode({'status': 'resolved', EACH: 'yes', BEFORE: self.rows[0].id + 'z'})}"

    @property
    def title(self) -> str:
        return count(len(self.rows), "event" if _is_told(self.rows[0]) else "monitor")

    @property
    def began(self) -> int:
        return min(row.started for row in self.rows)

    @property
    def until(self) -> int | None:
        return None if self.rows[0].is_open else max(row.resolved or row.started for row in self.rows)


class TriedRemedy(NamedTuple):
    name: str
    about: str
    figures: str
    helped: bool


def overview(answers: Answers, reader: Reader) -> TemplateValues:
    return {**listing(answers, reader), "notices": answers[NOTICES]}


def listing(answers: Answers, reader: Reader) -> TemplateValues:
    plain, later = _is_plain(reader), bool(reader.asked(BEFORE))
    now, rows = answers[OPEN], answers[INCIDENTS]
    mine, lines = {"owner": reader.username}, lines_of(now) if plain and not later else []
    status, owner = reader.asked("status"), reader.asked("owner")
    return {
        "heading": _count(len(now)),
        "open_count": len(now),
        "now": lines[:MOST_LINES],
        "now_more": len(lines[MOST_LINES:]),
        "rows": [IncidentLine((row,)) for row in rows] if reader.asked(EACH) else lines_of(rows),
        "later": later,
        "plain": plain,
        "shows": (
            ("Open", "/incidents?status=open", status == "open"),
            ("Mine", f"/incidents?{urlencode(mine)}", owner == reader.username),
            ("All", "/incidents", plain),
        ),
        "of_monitor": rows[0].monitor_name if reader.asked("monitor_id") and rows else "",
    }


def asked_of_past(reader: Reader, _: Answers) -> dict[str, str]:
    """What is open stands above the list, unless something is looked for."""
    together = {} if reader.asked(EACH) else {"together": "true"}
    return together | ({"status": "resolved"} if _is_plain(reader) else {})


def _is_plain(reader: Reader) -> bool:
    return not reader.asks(*FILTERS)


def lines_of(rows: Iterable[IncidentRecord]) -> list[IncidentLine]:
    """What is alike is one line, which opens to its members."""
    return [IncidentLine(tuple(same)) for same in alike(rows)]


def folded(items: list[TimelineItem]) -> TemplateValues:
    """The newest of a long timeline stand open; what somebody has to decide is never folded."""
    undecided = max((number for number, item in enumerate(items, 1) if item.ask), default=0)
    open_ones = max(RECENT, undecided)
    return {"items": items[:open_ones], "earlier": items[open_ones:]}


def _count(number: int) -> str:
    if not number:
        return "No incident is open."
    return "1 incident is open." if number == 1 else f"{number} incidents are open."


def room(answers: Answers, reader: Reader) -> TemplateValues:
    known = answers[ROOM]
    incident = known.incident
    template = reader.asked("template")
    related = sorted(known.related_monitors, key=lambda monitor: BESIDE.get(monitor.status, len(BESIDE)))[:8]
    place = _place(incident)
    tried = [_tried(remedy) for remedy in known.suggested_automations]
    return merged(top, timeline, moment.shape)(answers, reader) | {
        "decide": next((candidate for candidate in _questions(answers, reader) if candidate.mine), None),
        "stages": [(stage, STAGE_WORDS[stage], f"{place}?{urlencode({'template': stage})}#say") for stage in TEMPLATES],
        "stage": template if template in TEMPLATES else _stage_now(incident),
        "draft": TEMPLATES.get(template, "").format(name=incident.monitor_name),
        "people": _people(incident),
        "helped": [remedy for remedy in tried if remedy.helped][:6],
        "others": [remedy for remedy in tried if not remedy.helped][:6],
        "related": related,
    }


def top(answers: Answers, reader: Reader) -> TemplateValues:
    known, names = answers[ROOM], _names(answers)
    incident = known.incident
    facts, heals = _facts(incident, answers.known(OVERVIEW), names), _heals(known)
    return {
        "title": _title(incident),
        "incident": incident,
        "shown": _is_public(known),
        "root": _root(incident),
        "facts": (*facts, *_causes(heals), *waves_told(heals)),
    }


def _is_told(incident: IncidentRecord) -> bool:
    """It is of no monitor: another system told of it, or a person."""
    return incident.monitor_id is None


def _title(incident: IncidentRecord) -> str:
    name, is_open = incident.monitor_name, incident.is_open
    if _is_told(incident):
        return name if is_open else f"{name} is over"
    return f"{name} {'is down' if is_open else 'was down'}"


def timeline(answers: Answers, reader: Reader) -> TemplateValues:
    known, show = answers[ROOM], reader.asked("show")
    with_others = reader.asked("add") == moment.ADDED
    runs = [event for event in known.events if event.kind == "run"] + [*(known.other_runs if with_others else ())]
    items = _timeline(known, runs, _questions(answers, reader), _names(answers))
    place = _place(known.incident)
    return {
        **folded([item for item in items if _is_shown(item, show)]),
        "shows": tuple((word, place + more, show == asked) for word, more, asked in SHOWS),
        "added": with_others,
        "add": "" if with_others or not known.other_runs else f"Add {count(len(known.other_runs), 'run')}",
    }


def _place(incident: IncidentRecord) -> str:
    return place_of("incident", incident.id)


def _names(answers: Answers) -> NameBook:
    incident = answers[ROOM].incident
    overview = answers.known(OVERVIEW)
    own = {incident.monitor_name: incident.monitor_id} if incident.monitor_id else {}
    if overview is None:  # who is in a team is told of this incident alone
        return NameBook(own)
    monitor_ids = {**overview.monitor_ids, **own}
    return NameBook(monitor_ids, overview.agent_ids)


def _questions(answers: Answers, reader: Reader) -> list[Question]:
    heals, names = _heals(answers[ROOM]), _names(answers)
    cases = {heal.case_id for heal in heals}
    asked_for = {heal.approval_id for heal in heals}  # one request may be about many cases
    asked = [record for record in answers[APPROVALS] if record.case_id in cases or record.request_id in asked_for]
    return [question(record, names, reader) for record in asked]


def _is_public(known: WarRoom) -> bool:
    return known.monitor is not None and PUBLIC in known.monitor.tags


def _root(incident: IncidentRecord) -> str:
    if incident.root_cause:
        return f"It comes from {incident.root_cause}"
    if incident.by_hand and incident.is_open:
        where = f". It is shown on {on_pages(incident.pages)}" if incident.pages else ""
        return f"{incident.opened_by} opened it. Nothing here measures it, so somebody has to end it{where}"
    if _is_told(incident) and incident.is_open:
        return "Another system told of it. It is about no host or monitor here"
    if _is_told(incident):
        return "Resolved"
    return f"{incident.monitor_name} {'is' if incident.is_open else 'was'} the root cause, as far as is known"


def _facts(incident: IncidentRecord, overview: Overview | None, names: NameBook) -> list[Sentence]:
    if _is_told(incident):
        return _told_facts(incident)
    name, root = incident.monitor_name, incident.root_cause
    facts = [said(incident.started, "bad", sentence_of(incident.cause) or "The check failed without a reason.")]
    if root:
        words = (" has failed too. This one needs it, so its own healing waits.",)
        facts.append(said(None, "hid", names.target(root), *words))
    troubles = () if overview is None else overview.troubles
    below = [trouble for trouble in troubles if trouble.root_cause == name and incident.is_open]
    if below:
        needs = "needs it. Its" if len(below) == 1 else "need it. Their"
        links = listed([trouble.name for trouble in below], most=5)
        facts.append(said(None, "hid", Word(links, strong=True), f" {needs} own healing waits until this one is up."))
    if incident.resolved is not None:
        facts.append(said(incident.resolved, "ok", "It is up again."))
    return facts


def _heals(known: WarRoom) -> list[HealOfIncident]:
    return [made(HealOfIncident, heal) for heal in known.heals]


def _causes(heals: Sequence[LedgerEntryShown]) -> list[Sentence]:
    """Why it is so, as the hosts said it; each once, as it was named last."""
    named = {entry.cause.text: entry.created_at for entry in heals if entry.cause}
    return [said(at, "icon:bell", sentence_of(text)) for text, at in named.items()]


def waves_told(heals: Sequence[HealOfIncident]) -> list[Sentence]:
    known = {wave_words(entry.wave): entry.created_at for entry in heals if entry.wave}
    return [said(at, "heal", sentence_of(f"{words[:1].upper()}{words[1:]}")) for words, at in known.items()]


def _told_facts(incident: IncidentRecord) -> list[Sentence]:
    """What the other system said of it."""
    facts = [said(incident.started, "bad", sentence_of(incident.cause))]
    if incident.description and incident.description != incident.cause:
        facts.append(said(None, "icon:bell", sentence_of(incident.description)))
    if incident.severity:
        facts.append(said(None, "icon:bell", f"Its severity is {incident.severity}."))
    facts += [said(None, "icon:out", Word(link, link)) for link in incident.links or ()]
    if incident.resolved is not None:
        facts.append(said(incident.resolved, "ok", "Resolved."))
    return facts


def _timeline(
    known: WarRoom, runs: list[WarRoomEvent], questions: list[Question], names: NameBook
) -> list[TimelineItem]:
    incident = known.incident
    items = [TimelineItem(incident.started, "bad", "fire", sentences.went_down(incident))]
    public = _is_public(known)
    items += [_note(incident, note, public=public) for note in incident.updates]
    back = sentences.came_back(incident)
    items += [TimelineItem(back.at, "ok", "check", back)] if back is not None else []
    asked = {asked_question.row.ledger_id: asked_question for asked_question in questions}
    items += [_heal(entry, asked.get(entry.id), names) for entry in _heals(known)]
    items += [TimelineItem(run.time, "", "bolt", said(run.time, "", sentence_of(run.text))) for run in runs]
    items.reverse()  # of two in one second, the one that was told later is the newer
    return sorted(items, key=lambda item: (item.ask is None, -item.at))


def _note(incident: IncidentRecord, note: IncidentNote, *, public: bool) -> TimelineItem:
    if note.stage in ("acknowledged", "assigned"):
        return TimelineItem(note.time, "", "user", sentences.update(incident, note))
    where = "told the status page" if note.public and public else "wrote, for people here"
    title = said(note.time, "", Word(note.user, strong=True), f" {where}: {STAGES[note.stage].lower()}.")
    return TimelineItem(note.time, "", "bell", title, note.message)


def _heal(entry: LedgerEntryShown, ask: Question | None, names: NameBook) -> TimelineItem:
    told = sentences.heal(entry, names)
    colour, icon = LOOKS.get(entry.outcome or "", ("heal", "heart"))
    if ask is not None:
        return TimelineItem(told.at, "warn", "check", ask.title, ask=ask)
    rule = f"By the rule {entry.rule_id}, step {entry.escalation_step + 1}" if entry.action_type else ""
    level = f", at the level {entry.trust_level}" if entry.trust_level else ""
    return TimelineItem(told.at, colour, icon, told, f"{rule}{level}." if rule else "")


def _is_shown(item: TimelineItem, show: str) -> bool:
    if show == UPDATES:
        return item.icon in ("bell", "user")
    return show != ACTS or item.icon not in ("bell", "user")


def _stage_now(incident: IncidentRecord) -> str:
    """What the next update most likely says."""
    written = [note.stage for note in incident.updates if note.stage in TEMPLATES]
    if incident.resolved is not None:
        return "resolved"
    return written[-1] if written else "investigating"


def _people(incident: IncidentRecord) -> list[tuple[str, str]]:
    about: dict[str, str] = {}
    for note in incident.updates:
        about[note.user] = "wrote"
    if incident.acknowledged_by:
        about[incident.acknowledged_by] = "takes care of it"
    return list(about.items())


def _tried(row: SuggestedRemedy) -> TriedRemedy:
    """The remedy, told by the outages of this monitor that it ended."""
    ended, tried = row.helped_here, row.tried_here
    figures = f"ended {ended} of {count(tried, 'outage')}" if tried else "not tried here"
    about = f"when {row.condition}" if row.action_type else "automation"
    what = spoken_action(row.action_type) if row.action_type else row.name or ""
    return TriedRemedy(what, about, figures, ended > 0)
