"""The morning letter: it tells what the ledger has behind the last one, and goes to one channel.

Its day, how far it told and the message are one transaction: a day has at most one letter, whatever breaks. Must
not: read the ledger from its beginning, or show what a viewer may not see.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from opsapp.agents.engine import host_of
from opsapp.approvals.resources import approvals_of
from opsapp.healing.foretold import ForecastRecord
from opsapp.healing.letters import Letter, LetterSchedule, LetterSettings
from opsapp.healing.logic import chain
from opsapp.healing.logic import letter as words
from opsapp.healing.logic.letter import CaseEnd, Night, Request, Saved
from opsapp.healing.resources import Healing, healing_of
from opsapp.healing.resources.ledger import Ledger
from opsapp.healing.resources.letters import LetterBook
from opsapp.healing.stages.case import CaseRecord, ClosedCase
from opsapp.healing.stages.holdout import CONTROL
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.lib.addresses import public_text
from opsapp.lib.problems import Invalid
from opsapp.lib.visible import clip
from opsapp.notify.engine import send_to
from opsapp.notify.interfaces import LONGEST_TEXT, IPageAddresses
from opsapp.notify.resources import channels_of
from opsapp.runtime.cluster import leases
from opsapp.runtime.node import Node, node_of
from opsapp.runtime.secrets.chainkey import chain_key
from opsapp.tree.root import Root
from opsapp.wire.records import settings_of
from opsapp.wire.spoken import spoken_target

from .lift import ActionElsewhere, savings

log = logging.getLogger(__name__)

EVERY_S = 15.0
DAY = 86400.0
MOST_READ, MOST_SHOWN = 5000, 1000  # entries for one letter, and to show what it would say
MOST_ASKS = 5  # of each kind
KIND = "heal.letter"
HEALED = ("verified",)
NOT_HEALED = ("failed", "rolled_back", "inconclusive", "lost")
HELD_BACK = ("suppressed", "skipped", "withdrawn", "rejected", "expired", "notified")
NO_CHANNEL = "the channel is gone: choose another one"
OFF = "the channel is disabled"


def step(node: Node) -> bool:
    now = node.clock.now()
    if node.transact(is_due, now):
        node.transact(send, now)
    return False


# -- its settings


def book_of(root: Root) -> LetterBook:
    return healing_of(root).letters or LetterBook()


def schedule(root: Root, now: float) -> LetterSchedule:
    settings = book_of(root).settings
    shown = LetterSchedule(**vars(settings))
    if settings.channel is None:
        return shown
    channel = channels_of(root).find(settings.channel)
    lacking = NO_CHANNEL if channel is None else None if channel.record.enabled else OFF
    next_at = words.next_after(settings.at, _zone(root, settings), now)
    return replace(shown, next_at=int(next_at), lacking=lacking)


def change(root: Root, settings: LetterSettings, now: float) -> None:
    """An hour of today that is over comes tomorrow for the first time."""
    healing = healing_of(root)
    before = book_of(root).settings
    if settings.channel not in (None, before.channel) and settings.channel not in channels_of(root):
        raise Invalid({"channel": "there is no such channel"})
    if healing.letters is None:
        healing.letters = LetterBook()
        links, since = _begins(healing.ledger, healing.letters, now)
        healing.letters.told(since, links)  # the first one begins a day before it was asked for
    healing.letters.fields = settings_of(settings)
    moved = before.channel is None or (settings.at, settings.zone) != (before.at, before.zone)
    if settings.channel is not None and moved:
        day, _ = words.latest(settings.at, _zone(root, settings), now)
        healing.letters.handle(words.handle(healing.letters.handled, day, now))


def _zone(root: Root, settings: LetterSettings) -> str:
    return settings.zone or node_of(root).config.timezone


# -- a letter


def is_due(root: Root, now: float) -> bool:
    book = healing_of(root).letters
    if book is None or book.settings.channel is None:
        return False
    day, _ = words.latest(book.settings.at, _zone(root, book.settings), now)
    return not words.is_handled(book.handled, day, now)


def send(root: Root, now: float) -> None:
    """Once a day; nothing where there is nothing to tell."""
    leases.check(root, "healing")
    book = healing_of(root).letters
    if book is None or not is_due(root, now):
        return
    settings = book.settings
    day, _ = words.latest(settings.at, _zone(root, settings), now)
    book.handle(words.handle(book.handled, day, now))
    letter = written(root, now, MOST_READ)
    if not letter.has_news:
        book.told(now, healing_of(root).ledger.links())
        return
    channel = channels_of(root).find(str(settings.channel))
    if channel is None:
        log.warning("the morning letter went nowhere: %s", NO_CHANNEL)
    else:
        ids = {"day": day, "head": letter.head}
        send_to(root, now, channel, key=f"letter:{day}", kind=KIND, title=letter.title, text=letter.text, ids=ids)
    book.keep(replace(letter, sent=channel is not None), healing_of(root).ledger.links())


def written(root: Root, now: float, most: int = MOST_SHOWN) -> Letter:
    book = book_of(root)
    night, zone = _night(root, book, now, most), _zone(root, book.settings)
    text, foot = public_text(words.body(night, zone, _address(root, KIND))), words.foot(night)
    text = clip(text, LONGEST_TEXT - len(foot) - 2)
    saved = night.saved
    return Letter(
        since=int(night.since),
        until=int(night.until),
        title=public_text(words.title(night)),
        text=f"{text}\n\n{foot}",
        head=night.head,
        healed=len(night.healed),
        not_healed=len(night.not_healed),
        left_alone=len(night.left_alone),
        held_back=len(night.held_back),
        asks=len(night.asks) + night.asks_more,
        saved_minutes=round(saved.minutes, 1) if saved.cases else None,
        saved_low=round(saved.low, 1) if saved.cases else None,
        saved_high=round(saved.high, 1) if saved.cases else None,
    )


def _night(root: Root, book: LetterBook, now: float, most: int) -> Night:
    healing = healing_of(root)
    ledger = healing.ledger
    first, since, links = *_begins(ledger, book, now), ledger.links()
    oldest = max(first, links - most, ledger.folded.links)
    ends = _ends(healing, ledger, oldest, links)
    cases = [(end, case) for end, case in ends.values() if not _is_alone(case)]
    left = [end for end, case in ends.values() if _is_alone(case)]
    left += [CaseEnd(trial.rule_id, trial.target, "") for trial in healing.trials.open.values() if trial.waits]
    healed = tuple(end for end, _ in cases if end.outcome in HEALED)
    asks, asks_more = _asks(root, healing, now, _zone(root, book.settings))
    return Night(
        since=since,
        until=now,
        head=chain.noted_head(chain_key(root), links, ledger.head),
        healed=healed,
        not_healed=tuple(end for end, _ in cases if end.outcome in NOT_HEALED),
        left_alone=tuple(left),
        held_back=tuple(end for end, _ in cases if end.outcome in HELD_BACK),
        saved=_saved(healing, healed),
        asks=asks,
        asks_more=asks_more,
        more=oldest - first,
    )


def _begins(ledger: Ledger, book: LetterBook, now: float) -> tuple[int, float]:
    """Behind which link, and when that was: where the last letter ended; without one a day ago."""
    if book.links is not None and book.links <= ledger.links():
        return book.links, book.until
    since, places = now - DAY, range(ledger.folded.links + 1, ledger.links() + 1)
    return ledger.folded.links + bisect_left(places, since, key=lambda place: _finished_at(ledger, place)), since


def _finished_at(ledger: Ledger, place: int) -> float:
    record = ledger.record(ledger.order[place])
    return 0.0 if record is None else float(record.finished_at or 0)


def _ends(healing: Healing, ledger: Ledger, first: int, links: int) -> dict[str, tuple[CaseEnd, CaseRecord | None]]:
    """A case with several steps counts once."""
    ends: dict[str, tuple[CaseEnd, CaseRecord | None]] = {}
    for record in ledger.records(ledger.order.values(first + 1, links)):
        case = healing.book.record_of(record.case_id) if record.case_id in healing.book.cases else None
        is_over = case is None or isinstance(case, ClosedCase)
        if is_over and record.rolls_back is None and _is_told(record):
            end = CaseEnd(record.rule_id, record.target, str(record.outcome), record.reason, record.action_type)
            ends[record.case_id or str(record.id)] = end, case
    return ends


def _is_told(record: LedgerRecord) -> bool:
    """Whether the letter tells of the entry: what a rule only told, people know already."""
    if record.outcome == "notified":
        return not record.reason.startswith("level ")
    return record.outcome in (*HEALED, *NOT_HEALED, *HELD_BACK)


def _is_alone(case: CaseRecord | None) -> bool:
    return case is not None and case.arm == CONTROL


def _saved(healing: Healing, healed: tuple[CaseEnd, ...]) -> Saved:
    """A rule counts by its own cases alone."""
    saved, heals = Saved(), Counter(end.rule_id for end in healed)
    for rule_id, count in heals.items():
        state = healing.trust.get(rule_id)
        if state is None:
            continue
        heals_s = tuple(case.heal_s for case in healing.trials.healed(rule_id))
        known = ActionElsewhere(rule_id, state.trust.trials, heals_s)
        of_rule = savings(healing.trials.ended(rule_id), known, count).minutes
        if of_rule is not None:
            minutes, low, high, cases = saved
            saved = Saved(minutes + of_rule.value, low + of_rule.low, high + of_rule.high, cases + count)
    return saved


# -- what asks for people


def _asks(root: Root, healing: Healing, now: float, zone: str) -> tuple[tuple[Request, ...], int]:
    """The first few of each kind, and how many more."""
    approvals, asked = approvals_of(root).page("pending", "oldest", MOST_ASKS, 0)
    due = list(healing.problems.due.keys(None, (now + DAY, "")))
    coming = [row for row in healing.foresight.coming() if now <= (row.hits_at or 0) <= now + DAY]
    more = sum(max(0, count - MOST_ASKS) for count in (asked, len(due), len(coming)))
    first = [
        *_approvals(root, approvals, zone),
        *_problems(root, healing, due[:MOST_ASKS], zone),
        *_forecasts(root, coming[:MOST_ASKS], zone),
    ]
    return tuple(first), more


def _approvals(root: Root, ids: list[str], zone: str) -> Iterator[Request]:
    for request_id, approval in approvals_of(root).some_items(ids):
        until = words.clock(approval.expires_at, zone)
        yield Request(
            f"Approve or reject: {approval.kind} of {approval.subject}, until {until}",
            _address(root, "approval.asked", approval=request_id),
        )


def _problems(root: Root, healing: Healing, due: list[tuple[float, str, str]], zone: str) -> Iterator[Request]:
    for at, rule_id, target in due:
        problem_id = healing.problems.open_on.get((rule_id, target), "")
        yield Request(
            f"Problem due {words.clock(at, zone)}: {spoken_target(target)} is healed again and again (rule {rule_id})",
            _address(root, "heal.problem", problem=problem_id),
        )


def _forecasts(root: Root, coming: list[ForecastRecord], zone: str) -> Iterator[Request]:
    for row in coming:
        host = host_of(root, row.agent_id)
        if host is not None:
            what = row.mount or row.metric.replace("_", " ")
            reaches = "reaches" if row.likely_by else "may reach"
            hits = f"{reaches} {row.threshold:g} at {words.clock(row.hits_at or 0, zone)}"
            yield Request(
                f"Forecast: {what} of {host.hostname} {hits}", _address(root, "agent.forecast", agent=row.agent_id)
            )


def _address(root: Root, kind: str, **ids: str) -> str | None:
    addresses = node_of(root).registry.queryUtility(IPageAddresses)
    return None if addresses is None else addresses(kind, ids)
