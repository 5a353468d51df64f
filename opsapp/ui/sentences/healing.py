"""What healing did, in sentences, and why it ended so. Pure."""

from __future__ import annotations

import json

from opsapp.healing.answers import LedgerEntryShown
from opsapp.healing.interfaces import reason
from opsapp.wire.spoken import spoken_action

from .words import NameBook, Sentence, Word, case, said, sentence_of, span

UNDER = "root cause "
LOOKS = {
    "verified": "ok",
    "failed": "bad",
    "lost": "bad",
    "rolled_back": "warn",
    "inconclusive": "warn",
    "suppressed": "hid",
    "absorbed": "hid",
    "notified": "icon:bell",
    "rejected": "icon:x",
    "expired": "icon:x",
    "withdrawn": "icon:check",
    "skipped": "warn",
}
BESIDE = 3  # figures that are shown of a heal: more is for its own page


def root_of(entry: LedgerEntryShown) -> str | None:
    text = entry.reason
    return text[len(UNDER) :].partition(": ")[0] if text.startswith(UNDER) else None


def act(entry: LedgerEntryShown) -> Word:
    """The action with those of its parameters that the target does not say."""
    params, part = json.loads(entry.action_params or "{}").values(), entry.target.partition("/")[2]
    values = [str(value) for value in params if value != part]
    return Word(" ".join([spoken_action(entry.action_type) or "A heal", *values]), strong=True)


def figures(entry: LedgerEntryShown) -> str:
    """What was measured before and after it, where that is a number: "disk_percent 100 → 91"."""
    before, after = entry.metrics_before or {}, entry.metrics_after or {}
    pairs = [
        f"{name} {before[name]:g} → {after[name]:g}"
        for name in sorted(before.keys() & after.keys())
        if _is_number(before[name]) and _is_number(after[name]) and before[name] != after[name]
    ]
    return ", ".join(pairs[:BESIDE])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def why_of(entry: LedgerEntryShown) -> Word | str:
    """Where the case is, or that it is not kept any more: the ledger is, for longer. What an agent healed alone never
    had one here."""
    if entry.has_case:
        return case(entry.case_id)
    return "" if entry.source == "agent" or not entry.case_id else "Its case was purged."


def heal(entry: LedgerEntryShown, names: NameBook) -> Sentence:
    at = entry.finished_at or entry.created_at
    where, why = names.target(entry.target), why_of(entry)
    outcome, did = entry.outcome, act(entry)
    if outcome is None or entry.state != "final":
        return _under_way(entry, names)
    ended = reason(entry.reason)
    because = sentence_of(f": {ended}") if ended else "."
    look = LOOKS.get(outcome, "icon:rule")
    if outcome == "suppressed":
        return said(at, look, where, *_held(entry, names, because), why)
    if outcome in ("absorbed", "observed", "simulated", "notified", "skipped"):
        return said(at, look, *_not_done(outcome, entry, where, did), because, " ", why)
    if entry.rolls_back:
        return said(at, look, "Undone on ", where, because, " ", why)
    if outcome in ("rejected", "expired", "withdrawn"):
        told = {"rejected": " was rejected", "expired": ": nobody decided in time", "withdrawn": " was not done"}
        return said(at, look, did, " on ", where, told[outcome], because if outcome != "expired" else ".", " ", why)
    return said(at, look, *_done(outcome, entry, where, did, because), " ", why)


def _under_way(entry: LedgerEntryShown, names: NameBook) -> Sentence:
    where, did, why = names.target(entry.target), act(entry), why_of(entry)
    at, state = entry.created_at, entry.state
    if state == "awaiting_approval" and entry.reason:  # people have said yes, and a coin that it waits
        return said(at, "heal", where, f" is {entry.reason}. ", why)
    if state == "awaiting_approval":
        place = f"/approvals/{entry.approval_id}"
        return said(
            at, "icon:check", "The machine asks whether it ", Word("may run", place), " ", did, " on ", where, "."
        )
    told = {
        "planned": "The machine prepares ",
        "executing": "The machine runs ",
        "settling": "The machine ran ",
        "verifying": "The machine ran ",
    }
    end = {"settling": ". It waits for the effect. ", "verifying": ". It measures again. "}.get(state, ". ")
    return said(at, "heal", told.get(state, "The machine works with "), did, " on ", where, end, why)


def _held(entry: LedgerEntryShown, names: NameBook, because: str) -> list[str | Word | tuple[Word, ...]]:
    root = root_of(entry)
    if root is not None:
        return [" was left alone: its root cause is ", names.target(root), ". "]
    return [" was left alone", because, " "]


def _not_done(
    outcome: str, entry: LedgerEntryShown, where: tuple[Word, ...], did: Word
) -> list[str | Word | tuple[Word, ...]]:
    if outcome == "skipped":
        return ["Nothing was done about ", where]
    if outcome == "absorbed":
        return ["Another alert of ", where, " was added to its case"]
    if outcome == "notified":
        return ["People were notified about ", where]
    if outcome == "simulated" and entry.action_type:
        return ["The machine would have run ", did, " on ", where]
    return ["The condition ", Word(entry.condition, code=True), " held on ", where]


def _done(
    outcome: str, entry: LedgerEntryShown, where: tuple[Word, ...], did: Word, because: str
) -> list[str | Word | tuple[Word, ...]]:
    took, measured = span(entry.duration_s), figures(entry)
    beside = f" {measured}." if measured else ""
    if outcome == "verified":
        return [where, " was healed in ", took, " by ", did, ".", beside]
    if outcome == "failed" and not entry.action_success:
        return [did, " on ", where, " failed", because, beside]
    told = {
        "failed": " did not help",
        "inconclusive": " was done, and nobody knows whether it helped",
        "rolled_back": " did not help and was undone",
        "lost": " was sent, and no answer came back",
    }
    return [did, " on ", where, told.get(outcome, f" ended: {outcome}"), because, beside]
