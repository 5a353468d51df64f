"""The answer of /api/overview: what a person who is called at night needs first."""

from __future__ import annotations

from opsapp.monitoring.engine import STATUSES
from opsapp.web.fields import Body, choice, field, flag, list_of, map_of, number, text, whole

from .health_answers import HoldRecord

TROUBLES = ("monitor", "host", "alert", "event")


class FleetCount(Body):
    total = whole(0)
    reporting = whole(0)
    waiting = whole(0)


class Trouble(Body):
    """What is wrong: a monitor that is not well, a host that is silent, a condition that people were told of, or an
    event from elsewhere that is about nothing here."""

    kind = choice(*TROUBLES)
    id = text(null=True)
    name = text()
    status = text()
    since = whole(null=True)
    cause = text(0, 2000)
    root_cause = text(null=True)
    incident_id = text(null=True)
    acknowledged_by = text(null=True)
    case_id = text(null=True)
    rule_id = text(null=True)
    last_day = list_of(choice(*STATUSES))


class NextStep(Body):
    action = text()
    params = text()


class CaseUnderWay(Body):
    """An open case of healing. `stage` counts the six stages from 0; `due` is when it is looked at next; while it is
    verified, the latest moment of that."""

    id = text()
    target = text()
    rule_id = text()
    condition = text()
    state = text()
    stage = whole(0, 5)
    step = whole(0)
    steps = whole(0)
    action = text(null=True)
    params = text()
    hostname = text(null=True)
    agent_id = text(null=True)
    opened_at = whole()
    due = whole(null=True)
    approval_id = text(null=True)
    left_until = whole(null=True)
    waits = flag()
    then = list_of(NextStep)


class CertificateEnd(Body):
    id = text()
    name = text()
    days = whole()


class NextBreak(Body):
    """The forecast that comes true first."""

    agent_id = text()
    hostname = text()
    metric = text()
    mount = text(null=True)
    now = number()
    threshold = number()
    hits_at = whole()
    low = whole(null=True)
    high = whole(null=True)
    coverage = number(0, 1, null=True)


class WrongCounts(Body):
    """How much is wrong; `causes` are those that are down and hang on nothing else that is shown,
    `alerts` the conditions on hosts that people were told of, `events` the incidents of no monitor."""

    down = whole(0)
    degraded = whole(0)
    unknown = whole(0)
    causes = whole(0)
    alerts = whole(0)
    events = whole(0)


class Overview(Body):
    at = whole()
    monitors = map_of(whole(0))
    agents = FleetCount()
    troubles = list_of(Trouble)
    wrong = WrongCounts()
    troubles_total = whole(0)
    cases = list_of(CaseUnderWay)
    cases_total = whole(0)
    holds = list_of(HoldRecord)
    certificates = list_of(CertificateEnd)
    next = field(NextBreak, null=True)
    monitor_ids = map_of(text(), 10_000)
    agent_ids = map_of(text(), 10_000)
