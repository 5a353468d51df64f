"""What a rule is worth: its lift, and what happens if nobody acts, by the API's verdict."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from opsapp.healing.lift_answers import LiftAnswer, LiftWaves, WaitAnswer
from opsapp.ui.charts import ActMark, Drop, TrialCount, interval, lift, survival

LOOKS = {"helps": "ok", "unknown": "off", "no_effect": "warn", "harms": "bad"}
WORDS = {"helps": "helps", "unknown": "not known yet", "no_effect": "hardly helps", "harms": "harms"}
LENDERS = {"same_readings": "of rules about the same readings", "all_rules": "of all other rules"}
SHORTEST_S = 60.0
LAST = 100  # trials that the plain range is about


class Worth(NamedTuple):
    look: str
    verdict: str
    words: str
    saved: str
    discs: Markup
    span: Markup | None  # how sure


class IfNobodyActs(NamedTuple):
    cases: int
    words: str
    curve: Markup | None


def worth_of(answer: LiftAnswer) -> Worth:
    treated, control, waves = answer.treated, answer.control, answer.waves
    usual = answer.usual
    if usual is None:
        words, span = (
            "Nothing can be compared yet: it takes cases that were healed and cases that were left alone.",
            None,
        )
    else:
        low, high = 100 * usual.low, 100 * usual.high
        of = min(LAST, treated.n + control.n + waves.n)
        words = f"In the last {of} trials {_between(round(low), round(high))} recovered than by doing nothing. "
        words += "Of ten such ranges eight hold the truth."
        span = interval("Points more than by doing nothing", low, (low + high) / 2, high)
    saved = answer.saved_minutes
    discs = lift(
        TrialCount("With the heal", treated.recovered, treated.n), TrialCount("By itself", control.recovered, control.n)
    )
    verdict = answer.verdict
    told = "" if saved is None else f"Saved {saved:g} minutes of outage so far, counted within the action's window."
    return Worth(
        LOOKS[verdict], WORDS[verdict], f"{words} {_compared(waves)}{_learning(answer.share)}", told, discs, span
    )


def _between(low: int, high: int) -> str:
    if low >= 0:
        return f"between {low} and {high} points more"
    if high <= 0:
        return f"between {-high} and {-low} points fewer"
    return f"between {-low} points fewer and {high} points more"


def _compared(waves: LiftWaves) -> str:
    if not waves.n:
        return ""
    went, waited = (share / waves.n for share in (waves.treated, waves.alone))
    return f"In {waves.n} waves {went:.0%} of those that went were well, {waited:.0%} of those that waited. "


def _learning(share: float) -> str:
    if not share:
        return "No case is left alone to learn more."
    return f"Of the cases that it would act on {100 * share:g} % are left alone for a while first, to learn more."


def if_nobody_acts(answer: WaitAnswer) -> IfNobodyActs:
    cases, wait_s, borrowed = answer.cases, answer.wait_s, answer.borrowed
    if not cases and not borrowed:
        return IfNobodyActs(0, "No case was left alone yet.", None)
    recovered = f"{answer.recovered} of {cases} came back by themselves." if cases else "No case was left alone yet."
    if borrowed:
        lenders = LENDERS[answer.borrowed_from or ""]
        recovered += f" Until there are 20, {borrowed} cases {lenders} count too: {1 - answer.weight:.0%} of the curve."
    if wait_s is None:
        words = f"{recovered} It takes five such cases and a heal to say how long to wait."
    elif not wait_s:
        words = f"{recovered} Acting at once costs the least downtime."
    else:
        words = f"{recovered} Waiting {wait_s:g} s costs the least: {answer.saves_s:g} s less downtime a case."
    drops = [Drop(point.seconds, point.share) for point in answer.curve if point.seconds]
    horizon = max([SHORTEST_S, *(1.25 * drop.after for drop in drops), 2 * (wait_s or 0)])
    act = None if not wait_s else ActMark(wait_s, "act")
    return IfNobodyActs(cases, words, survival(drops, horizon, act=act))
