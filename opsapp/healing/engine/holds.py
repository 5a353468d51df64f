"""What people say so that healing does less for a while: hands off a host, I am here, and the pause with its end.

All but the pause, which is the kill switch, are healing windows. Each ends by itself, and lasts as long when the
clock is set. Must not: lower a level (`logic.stakes`).
"""

from __future__ import annotations

from collections.abc import Collection

from opsapp.agents.resources import Agent, agents_of
from opsapp.healing.health_answers import HoldRecord, PauseSpan
from opsapp.healing.logic.stakes import HANDS_OFF, HERE, OF_WINDOWS
from opsapp.healing.resources import Pause, healing_of
from opsapp.lib.durations import seconds, whole, written
from opsapp.lib.problems import Conflict, Invalid
from opsapp.lib.zones import wall
from opsapp.maintenance.engine import board_of, end_healing, healing_windows, open_healing
from opsapp.maintenance.resources import HealingWindow, windows_of
from opsapp.notify.engine import tell
from opsapp.runtime.node import node_of, now_of
from opsapp.runtime.wakes import wake_after_commit
from opsapp.tree.root import Root

ALL = "all"
LONGEST_S = 366 * 86400.0


def end_of(asked: PauseSpan, now: float) -> float | None:
    until = asked.until if asked.span is None else now + seconds(asked.span)
    if until is not None and not now < until <= now + LONGEST_S:
        name = "until" if asked.span is None else "for"
        raise Invalid({name: "must end in the future, at most a year from now"})
    return until


def standing(root: Root, now: float) -> list[HoldRecord]:
    pause = healing_of(root).pause
    held = [HoldRecord("pause", ALL, ALL, pause.by or "", pause.reason, int(pause.at or 0), whole(pause.until))]
    windows = [window for window in board_of(node_of(root)).active(now) if window.plan.effect in OF_WINDOWS]
    return held * pause.paused + [
        HoldRecord(plan.effect, target, _called(root, target), plan.by, plan.name, int(span.start), int(span.end))
        for plan, span in windows
        for target in plan.scope or (ALL,)
    ]


def _called(root: Root, target: str) -> str:
    agent = agents_of(root).find(target)
    return target if agent is None else _name(agent)


# -- windows of a person ---------------------------------------------------------------------------------------------


def hands_off(root: Root, agent: Agent, asked: PauseSpan, by: str) -> HealingWindow:
    """Rules act one level lower on the host. A later word of the same person replaces it."""
    window = _anew(root, HANDS_OFF, agent.id, asked, by)
    healing_of(root).hands_off += (window.__name__,)
    until = wall(window.record.expires_at, node_of(root).config.timezone)
    reason = f" ({asked.reason})" if asked.reason else ""
    text = f"{by} says hands off until {until}{reason}. Rules act one level lower there: they ask before they act."
    _tell_of_host(root, agent, f"{_name(agent)}: hands off by {by}", text)
    return window


def hands_on(root: Root, agent: Agent, by: str) -> None:
    known_as = {agent.id, agent.hostname, agent.label}
    windows = [window for window in _on(root, HANDS_OFF) if window.record.target in known_as]
    _end(root, windows)
    _told(root, [window.__name__ for window in windows])
    _tell_of_host(root, agent, f"{_name(agent)}: hands off is over", f"{by} has ended it. Rules act there as before.")


def hands_off_over(root: Root, now: float) -> list[str]:
    """Ended and not told, from this node's memory."""
    untold = healing_of(root).hands_off
    plans = board_of(node_of(root)).plans if untold else {}  # a rehearsal has no windows
    return [window_id for window_id in untold if (plan := plans.get(window_id)) is None or plan.end <= now]


def tell_hands_off_over(root: Root, now: float) -> None:
    """Once of each that ended by itself, or with its window."""
    windows = {window_id: windows_of(root).find(window_id) for window_id in hands_off_over(root, now)}
    over = {key: window for key, window in windows.items() if window is None or window.record.expires_at <= now}
    _told(root, over)
    for window in filter(None, over.values()):
        agent = agents_of(root).find(window.record.target)
        others = [on.record.created_by for on in _on(root, HANDS_OFF) if on.record.target == window.record.target]
        whose, rest = window.record.created_by, " and ".join(others)
        title = f"hands off by {whose} is over" if others else "hands off is over"
        text = f"That of {rest} goes on." if others else f"That of {whose} has ended. Rules act there as before."
        if agent is not None:
            _tell_of_host(root, agent, f"{_name(agent)}: {title}", text)


def _told(root: Root, ids: Collection[str]) -> None:
    if ids:
        healing = healing_of(root)
        healing.hands_off = tuple(window_id for window_id in healing.hands_off if window_id not in ids)


def come(root: Root, asked: PauseSpan, by: str) -> HealingWindow:
    """What has a medium risk is asked about."""
    return _anew(root, HERE, ALL, asked, by)


def leave(root: Root, by: str) -> None:
    _end(root, [window for window in _on(root, HERE) if window.record.created_by == by])


def _anew(root: Root, action: str, target: str, asked: PauseSpan, by: str) -> HealingWindow:
    now = now_of(root)
    until = end_of(asked, now) or now
    for window in _on(root, action):
        if (window.record.target, window.record.created_by) == (target, by):
            end_healing(root, window)
            _told(root, [window.__name__])
    about = {"target": target, "action": action, "reason": asked.reason, "duration": written(until - now)}
    return open_healing(root, about, by, until)


def _on(root: Root, action: str) -> list[HealingWindow]:
    now = now_of(root)
    return [window for window in healing_windows(root, now) if window.record.action == action]


def _end(root: Root, windows: list[HealingWindow]) -> None:
    if not windows:
        raise Conflict("There is nothing of that kind that could end.", code="not_active")
    for window in windows:
        end_healing(root, window)


def _name(agent: Agent) -> str:
    return agent.hostname or agent.label


def _tell_of_host(root: Root, agent: Agent, title: str, text: str) -> None:
    tell(root, now_of(root), key=f"hands-off:{agent.id}", kind="agent.hands_off", severity="info",
         title=title, text=text, tags=("healing",), ids={"agent": agent.id}, despite_window=True)  # fmt: skip


# -- the kill switch -------------------------------------------------------------------------------------------------


def pause(root: Root, asked: PauseSpan, by: str) -> bool:
    """Whether anything changed."""
    healing, now = healing_of(root), now_of(root)
    until = end_of(asked, now)
    wanted = Pause(True, by, now, until, asked.reason)
    if healing.paused and until is None and not asked.reason:
        return False
    healing.pause = wanted
    how = wanted.ends(node_of(root).config.timezone) or f"by {by}, until somebody resumes it"
    _tell_of_pause(root, "heal.paused", "warning", "All healing is paused", f"Healing is paused {how}.")
    return True


def resume(root: Root, by: str) -> bool:
    healing, now = healing_of(root), now_of(root)
    if not healing.paused:
        return False
    healing.pause = Pause(False, by, now)
    _tell_of_pause(root, "heal.resumed", "info", "Healing goes on", f"{by} has ended the pause.")
    return True


def end_pause(root: Root, now: float) -> None:
    healing = healing_of(root)
    if healing.pause_is_over(now):
        told = f"The pause by {healing.pause.by} has ended by itself, as it said."
        healing.pause = Pause(False, healing.pause.by, now)
        _tell_of_pause(root, "heal.resumed", "info", "Healing goes on", told)
        wake_after_commit(root, "healing")


def _tell_of_pause(root: Root, kind: str, severity: str, title: str, text: str) -> None:
    tell(root, now_of(root), key=f"healing:{kind}", kind=kind, severity=severity, title=title, text=text,
         tags=("healing",), ids={})  # fmt: skip
