"""How everything stands: the heading of the overview, from the figures of the header."""

from __future__ import annotations

from opsapp.healing.overview_answers import Overview
from opsapp.ui.sentences import NameBook, count, listed, sentence_of


def names_of(overview: Overview | None) -> NameBook:
    """None: who is in a team is not told of everything."""
    return NameBook() if overview is None else NameBook(overview.monitor_ids, overview.agent_ids)


def is_new(overview: Overview) -> bool:
    return bool(overview.monitors.total + overview.agents.total + overview.wrong.events == 0)


def is_well(overview: Overview) -> bool:
    """What nobody has looked at yet is not well."""
    return bool(overview.troubles_total == 0 and overview.monitors.up > 0)


def heading(overview: Overview, mine: int) -> str:
    asks = "" if not mine else f" {count(mine, 'decision is', 'decisions are')} yours."
    if is_new(overview):
        return "Nothing is watched yet." + asks
    return _state(overview) + asks


def _state(overview: Overview) -> str:
    counts, wrong = overview.monitors, overview.wrong
    parts = []
    if counts.down:  # the figure of the header, which counts monitors
        causes = f" by {'one cause' if wrong.causes == 1 else f'{wrong.causes} causes'}"
        parts.append(f"{counts.down} down" + causes * (0 < 2 * wrong.causes <= counts.down))
    parts += [f"{count(wrong.silent, 'host')} silent"] if wrong.silent else []
    parts += [f"{count(wrong.stopped, 'agent')} stopped"] if wrong.stopped else []
    parts += [f"{overview.down_in_windows} down in maintenance"] if overview.down_in_windows else []
    parts += [f"{counts.degraded} degraded"] if counts.degraded else []
    parts += [count(wrong.alerts, "alert")] if wrong.alerts else []
    parts += [count(wrong.events, "event from elsewhere", "events from elsewhere")] if wrong.events else []
    parts += [f"{counts.unknown} unknown"] if counts.unknown else []
    parts += [f"{count(wrong.unheard, 'host')} not heard yet"] if wrong.unheard else []
    if parts:
        return sentence_of(", ".join(parts))
    if not counts.total:
        return "Nothing is wrong on the hosts. No monitor is set up yet."
    if counts.up == counts.total:
        return "The monitor is up." if counts.total == 1 else f"All {count(counts.total, 'monitor')} are up."
    others = (("maintenance", "in maintenance"), ("pending", "not checked yet"), ("paused", "paused"))
    told = [f"{getattr(counts, status)} {words}" for status, words in others if getattr(counts, status)]
    if not counts.up:
        return f"Nothing is known: {listed(told)}."
    up = f"{counts.up} up"
    return f"Nothing is wrong: {listed([up, *told])}."


def below(overview: Overview) -> list[str]:
    counts, agents = overview.monitors, overview.agents
    told = [count(counts.total, "monitor")]
    if agents.total:
        told.append(f"{agents.reporting} of {count(agents.total, 'host')} reporting")
    if agents.waiting:
        told.append(f"{count(agents.waiting, 'host waits', 'hosts wait')} for a first report")
    return told
