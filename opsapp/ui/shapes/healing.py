"""How healing stands, and chaos: what they found, in sentences."""

from __future__ import annotations

from typing import NamedTuple

from opsapp.healing.health_answers import AnomalyBudget, Health, WorkerState
from opsapp.healing.inlet_answers import InletRecord
from opsapp.ui.parts import HEALING_WINDOWS, HEALTH, INLETS, SCENARIOS
from opsapp.ui.reader import Answers, Reader, TemplateValues
from opsapp.ui.sentences import count
from opsapp.ui.words import rough_span

from . import holds

STANDS = {
    "Active": (
        "ok",
        "Healing is active.",
        "It watches the conditions of its rules, and acts as their trust levels allow.",
    ),
    "Degraded": ("degraded", "Healing works, but not as it should.", "The reasons are below."),
    "Paused": ("paused", "Healing is paused.", "Events are recorded and alerts are sent. Nothing is healed."),
}
WORKERS = {
    "alerts": "Checks the conditions of the rules",
    "pipeline": "Decides, acts and measures again",
    "deeds": "Runs heals on this server",
    "chaos": "Ends chaos runs",
    "offline": "Sends hosts the rules for when they are offline",
    "discovery": "Looks for dependencies",
    "prediction": "Makes forecasts",
    "inlets": "Takes events of other programs",
    "governor": "Demotes rules whose heals fail",
    "letter": "Sends the morning letter",
    "purge": "Deletes expired records",
}


class WorkerShown(NamedTuple):
    name: str
    state: str
    words: str


def standing(answers: Answers, reader: Reader) -> TemplateValues:
    health = answers[HEALTH]
    state, heading, about = STANDS[health.status]
    names = {hold.target: hold.name for hold in health.holds}
    return {
        "state": state,
        "heading": heading,
        "about": about,
        "health": health,
        "work": work_of(health),
        "rarity": _rarity(health.anomalies),
        "workers": tuple(_worker(worker) for worker in health.components),
        "windows": tuple(holds.window_line(row, names.get(row.target)) for row in answers[HEALING_WINDOWS]),
    }


def _rarity(anomalies: AnomalyBudget) -> str | None:
    if anomalies.bound is None:
        return None
    often = float(f"{10**anomalies.bound:.2g}")
    number = anomalies.false_a_week
    alarms = f"Expect about {number:g} false alarm{'' if number == 1 else 's'} a week over all hosts."
    return f"Five minutes of readings count as an anomaly if they are as rare as 1 in {often:,.0f}. {alarms}"


def work_of(health: Health) -> str:
    waiting, active = health.queue_depth, health.active_heals
    if not waiting and not active:
        return "Nothing waits, and nothing is under way."
    cases = count(active, "case is", "cases are") if active else "No case is"
    waits = count(waiting, "event waits", "events wait") if waiting else "no event waits"
    return f"{cases} under way, {waits}."


def _worker(worker: WorkerState) -> WorkerShown:
    short = worker.name.removeprefix("healing-")
    name = WORKERS.get(short, short.replace("-", " ").replace("_", " "))
    if worker.last_error:
        return WorkerShown(name, "failed", f"{worker.errors} errors, the last: {worker.last_error}")
    if worker.late_s is None:
        return WorkerShown(name, "unknown", "has not run yet")
    late = worker.late_s
    return (
        WorkerShown(name, "degraded", f"late by {rough_span(late)}") if late > 1 else WorkerShown(name, "ok", "on time")
    )


class InletLine(NamedTuple):
    row: InletRecord
    state: str
    words: str
    refused: str


def inlets(answers: Answers, reader: Reader) -> TemplateValues:
    return {"inlets": tuple(InletLine(row, *_standing(row), _refused(row)) for row in answers[INLETS])}


def _refused(row: InletRecord) -> str:
    if not row.refused:
        return ""
    entries = count(row.refused, "entry", "entries")
    return f"Refused: {entries} that could not be read as an event. Last reason: {row.last_refusal}."


def _standing(row: InletRecord) -> tuple[str, str]:
    firing, unknown = row.firing, row.unknown_targets
    if row.last_event_at is None:
        return "off", "Nothing has come in the last day"
    if not firing:
        return "ok", "No event fires"
    words = "1 event fires" if firing == 1 else f"{firing} events fire"
    if not unknown:
        return "ok", words
    about = "it is" if firing == unknown == 1 else f"{unknown} of them {'is' if unknown == 1 else 'are'}"
    return "warn", f"{words}, {about} about no host or monitor that is known"


def chaos(answers: Answers, reader: Reader) -> TemplateValues:
    return {"scenarios": answers[SCENARIOS]}
