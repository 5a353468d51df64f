"""What is known of a rule's worth: its lift, the downtime that it has saved, and how long it pays to wait."""

from __future__ import annotations

from opsapp.healing.logic import survival
from opsapp.healing.logic.survival import LeftAlone, downtimes
from opsapp.healing.resources import Healing, healing_of
from opsapp.healing.resources.rules import TrustState
from opsapp.healing.stages import trials
from opsapp.healing.stages.holdout import share_of
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import NotFound
from opsapp.runtime.projection import readable
from opsapp.tree.root import Root

from . import waits
from .pipeline import world_now

SHOWN = 100  # points of a curve


def lift(root: Root, rule_id: str) -> JsonObject:
    healing = healing_of(root)
    known, compared = _of(healing, rule_id).trust.trials, healing.trials.compared()
    return {
        "treated": known.treated._asdict(),
        "control": known.control._asdict(),
        "waves": {**known.waves._asdict(), "open": sum(wave.rule_id == rule_id for _, wave in compared)},
        "lift": None if known.lift is None else round(known.lift, 4),
        "low": round(known.bets.low, 4),
        "high": round(known.bets.high, 4),
        "usual": known.usual and {name: round(end, 4) for name, end in zip(("low", "high"), known.usual, strict=True)},
        "share": share_of(rule_id, world_now(root)).share,
        "saved_minutes": _saved_minutes(root, rule_id),
        "verdict": known.verdict,
    }


def _saved_minutes(root: Root, rule_id: str) -> float | None:
    """Within the action's window alone: how much shorter the healed cases were than those that were left alone are
    expected to be up to its end. What would have come after the window nobody has seen."""
    book = healing_of(root).trials
    durations = book.durations.get(rule_id)
    if durations is None or not durations.healed or len(durations.alone) < survival.ENOUGH:
        return None
    window_s = trials.window_of(rule_id, world_now(root))
    alone_s = survival.area(survival.curve(durations.alone), window_s)
    saved_s = sum(alone_s - min(healed.seconds, window_s) for healed in durations.healed)
    return round(saved_s / 60, 1)


def wait(root: Root, rule_id: str, now: float) -> JsonObject:
    healing = healing_of(root)
    _of(healing, rule_id)
    book, rules = healing.trials, {name: rule.record for name, rule in readable(healing["rules"], "rule")}
    own = book.alone(rule_id, now)
    lent = waits.borrowed(book, rules, rule_id, len(own)) if rule_id in rules else waits.Borrowed()
    known, heal_s = LeftAlone(own, lent.durations), waits.heal_s(book, rule_id)
    best = waits.best(known, heal_s)
    return {
        "rule_id": rule_id,
        "cases": len(own),
        "recovered": sum(duration.recovered for duration in own),
        "borrowed": len(lent.durations),
        "borrowed_from": lent.lenders,
        "weight": round(known.weight, 4),
        "heals": len(book.healed(rule_id)),
        "heal_s": heal_s and round(heal_s, 1),
        "wait_s": best and round(best.wait_s, 1),
        "downtime_s": best and round(best.downtime_s, 1),
        "saves_s": best and round(best.saves_s, 1),
        **_curves(known, heal_s),
    }


def _curves(known: LeftAlone, heal_s: float | None) -> JsonObject:
    points = known.curve() if known.own or known.borrowed else []
    every = max(1, -(-len(points) // SHOWN))
    expected = [] if heal_s is None or not points else list(downtimes(points, heal_s))[::every]
    return {
        "curve": [{"seconds": round(point.seconds, 1), "share": round(point.share, 4)} for point in points[::every]],
        "expected": [{"wait_s": round(at.wait_s, 1), "downtime_s": round(at.downtime_s, 1)} for at in expected],
    }


def _of(healing: Healing, rule_id: str) -> TrustState:
    state = healing["trust"].get(rule_id)
    if state is None:
        raise NotFound(f"There is no rule {rule_id!r}.")
    return state
