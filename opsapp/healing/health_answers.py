"""How healing stands: its health, and what makes it do less now."""

from __future__ import annotations

from opsapp.web.fields import Body, choice, field, flag, list_of, number, text, whole

from .logic.stakes import OF_WINDOWS


class HoldRecord(Body):
    """What makes healing do less now. `target`: an id or a name, `all` where it is everything; `name`: what that
    is called."""

    kind = choice("pause", *OF_WINDOWS)
    target = text()
    name = text()
    by = text()
    reason = text()
    since = whole(0)
    until = whole(0, null=True)


class WorkerState(Body):
    name = text()
    late_s = number(null=True)
    errors = whole(0)
    last_error = text(null=True)


class AnomalyBudget(Body):
    """How many false ones people may be told of in a week, and how rare one has to be for that: one in 10^bound."""

    false_a_week = number()
    bound = number(null=True)


class Health(Body):
    status = choice("Active", "Paused", "Degraded")
    reasons = list_of(text())
    notes = list_of(text())
    holds = list_of(HoldRecord)
    components = list_of(WorkerState)
    queue_depth = whole()
    active_heals = whole()
    last_event_at = whole(null=True)
    runs_kept_apart = flag(null=True)
    runs_not_held = list_of(text(), null=True)
    anomalies = field(AnomalyBudget)
