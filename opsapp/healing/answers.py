"""Answers of /api/healing."""

from __future__ import annotations

from opsapp.web.fields import Body, anything, choice, field, flag, list_of, map_of, number, scalar, text, whole
from opsapp.web.schemas import ChainAnswer
from opsapp.wire.causes import CAUSES

from .logic.chain import HEADS
from .logic.gates import RESULTS, STAGES
from .logic.levels import LEVELS
from .logic.stakes import KINDS as STAKES
from .wave_answers import CaseWave


class Status(Body):
    status = text()


class LedgerVerdict(ChainAnswer):
    """`folded` entries are away, and a signed mark stands for them: the check began at the entry `from`. `head`, where
    one was given: whether the chain still goes through it. It is `unknown` where its links were folded away."""

    folded = whole(optional=True)
    begins_at = whole(name="from", null=True, optional=True)
    head = choice(*HEADS, optional=True)


class LastCheck(Body):
    checked_at = whole(null=True)
    verdict = field(LedgerVerdict, null=True)


class LedgerHarm(Body):
    rule_id = text()
    target = text()
    condition = text()


class CauseNamed(Body):
    """Why it was as it was, as the host said before the last step or after it failed."""

    id = choice(*CAUSES)
    text = text()


class CaseCause(CauseNamed):
    """`evidence`: lines that show it, for operators; of the unit of a private log for admins."""

    evidence = list_of(text())


class StakeNamed(Body):
    kind = choice(*STAKES)
    said = text()
    by = text()
    until = whole(null=True)


class LoweredLevel(Body):
    """The level that counted instead of another one, and what was at stake."""

    level = choice(*LEVELS)
    instead_of = choice(*LEVELS)
    reasons = list_of(StakeNamed)


class LedgerRecord(Body):
    component = "LedgerEntry"
    id = whole()
    case_id = text(null=True)
    has_case = flag()
    correlation_key = text()
    rule_id = text()
    condition = text()
    target = text()
    action_type = text()
    action_params = text()
    escalation_step = whole()
    action_success = whole(0, 1)
    verified = whole(0, 1)
    duration_s = number()
    trust_level = text()
    source = text()
    created_at = whole()
    state = text()
    outcome = text(null=True)
    events = whole()
    reason = text()
    risk = text(null=True)
    approval_id = text(null=True)
    snapshot_id = text(null=True)
    rollback_status = text(null=True)
    rolls_back = whole(null=True)
    metrics_before = map_of(scalar(), null=True)
    metrics_after = map_of(scalar(), null=True)
    worse = list_of(LedgerHarm)
    cause = field(CauseNamed, null=True)
    lowered = field(LoweredLevel, null=True)
    finished_at = whole(null=True)
    prev_hash = text(null=True)
    hash = text(null=True)


class Effectiveness(Body):
    action_type = text()
    condition = text()
    total = whole()
    verified = whole()
    failed = whole()
    success_rate = number(null=True)
    lower_bound = number(null=True)


class SuggestionAbout(Body):
    """A dependency that may be declared, or the metric of a host that is about to run short."""

    target = text(optional=True)
    depends_on = text(optional=True)
    support = number(optional=True)
    confidence = number(optional=True)
    lift = number(optional=True)
    parent_first = number(optional=True)
    sure = flag(optional=True)
    agent_id = text(optional=True)
    metric = text(optional=True)


class SuggestionRecord(Body):
    id = whole()
    category = text()
    severity = text()
    message = text()
    rule_id = text()
    dismissed = whole(0, 1)
    created_at = whole()
    about = field(SuggestionAbout, optional=True)


class DependencyMistake(Body):
    target = text()
    error = text()


class Validation(Body):
    valid = flag()
    errors = list_of(DependencyMistake, 10_000)


class Success(Body):
    success = flag()


class TrustEvidence(Body):
    """`bad`, `needless`: what those have won who bet that it helps less often than promotion asks for, or that more
    recover by themselves than used to. At `alarm` it is believed."""

    triggers_7d = whole(0)
    executions = whole(0)
    verified = whole(0)
    failed = whole(0)
    sequential_bound = number()
    bad = number()
    needless = number()
    alarm = number()
    lift_low = number()


class TrustRecord(Body):
    rule_id = text()
    current_level = choice(*LEVELS)
    ceiling = choice(*LEVELS)
    promoted_at = whole(null=True)
    demoted_at = whole(null=True)
    promotion_count = whole()
    demotion_count = whole()
    last_evaluated = whole()
    evidence = TrustEvidence()
    needs = list_of(text())


class NewLevel(Body):
    success = flag()
    rule_id = text()
    new_level = choice(*LEVELS)


class CaseGate(Body):
    """One gate that a case met, as `detail` has its figure or reason."""

    stage = choice(*STAGES)
    gate = text()
    result = choice(*RESULTS)
    subject = text()
    detail = text()
    step = whole(null=True)
    command_id = text(null=True)


class CaseAct(Body):
    host = text()
    action = text()
    params = map_of(anything())
    began_at = whole()
    acted_at = whole(null=True)
    armed = flag()
    snapshot = text(null=True)
    command_id = text(null=True)


class CaseRecord(Body):
    """`left_until`: nothing is done before; `arm`: what its coin says, where one was tossed."""

    id = text()
    target = text()
    rule_id = text()
    state = text()
    outcome = text(null=True)
    step = whole()
    events = map_of(whole())
    opened_at = whole()
    closed_at = whole(null=True)
    recovered_at = whole(null=True)
    why = list_of(text())
    condition = text()
    severity = text()
    source = text()
    agent_id = text(null=True)
    subject = text(null=True)
    monitor_id = text(null=True)
    level = text()
    lowered = field(LoweredLevel, null=True)
    stage = choice(*STAGES)
    due = whole(null=True)
    left_until = whole(null=True)
    arm = choice("treated", "control", null=True)
    wave = field(CaseWave, null=True)
    deadline = whole(null=True)
    gates = list_of(CaseGate)
    act = field(CaseAct, null=True)
    cause = field(CaseCause, null=True)
    entries = list_of(LedgerRecord)
    records = list_of(Effectiveness)


class ActionHandler(Body):
    tools = list_of(text())
    steps = list_of(list_of(text()))
    when = text(null=True)


class ActionRecord(Body):
    name = text()
    risk = choice("low", "medium", "high")
    where = choice("host", "server")
    reversible = flag()
    implemented = flag()
    timeout = whole()
    settle_s = number()
    armed_s = number(null=True)
    params = map_of(map_of(anything()))
    target_param = text(null=True)
    either = list_of(text())
    snapshot = text(null=True)
    handlers = list_of(ActionHandler)
