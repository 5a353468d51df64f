"""Requests for approval, declared once (`wire.records`). Must not: know what is stored (`resources`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Annotated, Literal, NamedTuple, TypedDict

from opsapp.lib.jsontypes import JsonObject
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import AnyValues, Choice, Text
from opsapp.wire.records import AT_TIMES, Between

STATUSES = ("pending", "approved", "rejected", "expired", "withdrawn")
Kind = Literal["run", "heal", "proposal"]
Verdict = Literal["approve", "reject"]
Status = Annotated[str, Choice(*STATUSES)]


@frozen
class Vote:
    username: str
    vote: Verdict
    at: int
    comment: Annotated[str | None, Text(0, 2000)] = None


@frozen
class Proposer:
    """The assistant: `name` of its key, `client` as it calls itself, `needs`: the role for an approval. `whatif`: what
    it would have done."""

    name: str
    key_id: str
    username: str
    client: str
    reason: str
    needs: Literal["viewer", "operator", "admin"]
    whatif: AnyValues


class RequestAbout(TypedDict, total=False):
    """What a request stands for, as the store keeps it. `assistant`: a `Proposer`."""

    run_id: str
    automation_id: str
    ledger_id: int | None
    case_id: str
    assistant: JsonObject
    proposal: str


class NewRequest(NamedTuple):
    """`name`: what some wait for already. `subjects`: all hosts and monitors that it is about, by their ids; none where
    it is about more than these."""

    kind: Kind
    subject: str
    plan: JsonObject
    reason: str
    requested_by: str
    expiry_s: float
    about: RequestAbout
    risk: str | None = None
    approvers: tuple[str, ...] = ()
    quorum: int = 1
    name: str | None = None
    subjects: Collection[str] = ()


@frozen
class TimesHelped:
    """Done before."""

    total: Annotated[int, Between(0)]
    helped: Annotated[int, Between(0)]


@frozen
class Decided:
    request_id: str
    status: Status
    run_id: Annotated[str | None, AT_TIMES] = None
    ledger_id: Annotated[int | None, AT_TIMES] = None


@frozen(kw_only=True)
class RequestSummary:
    """As an event tells it. `subjects`: the hosts and monitors that it is about, `agent:ID` or `monitor:ID`; none where
    they are more than fifty, or not known."""

    request_id: str
    kind: Kind
    subject: str
    plan: AnyValues = field(default_factory=dict)
    reason: str = ""
    risk: str | None = None
    requested_by: str = ""
    requested_at: int = 0
    expires_at: int = 0
    approvers: tuple[str, ...] = ()
    quorum: int = 1
    votes: tuple[Vote, ...] = ()
    status: Status
    decided_by: str | None = None
    decided_at: int | None = None
    comment: str | None = None
    run_id: Annotated[str | None, AT_TIMES] = None
    automation_id: Annotated[str | None, AT_TIMES] = None
    ledger_id: Annotated[int | None, AT_TIMES] = None
    case_id: Annotated[str | None, AT_TIMES] = None
    assistant: Annotated[Proposer | None, AT_TIMES] = None
    proposal: Annotated[str | None, AT_TIMES] = None
    subjects: tuple[str, ...] = ()
    unreadable: Annotated[str, AT_TIMES] = ""


@frozen(kw_only=True)
class ApprovalRecord(RequestSummary):
    """`refusal`: why this person may not decide; "" where it cannot be read."""

    digest: Annotated[str, AT_TIMES] = ""
    refusal: Annotated[str | None, AT_TIMES] = ""
    record: Annotated[TimesHelped | None, AT_TIMES]


# -- a plan, as far as people are told of it


@frozen
class PlannedTarget:
    target: str
    host: str | None
    params: AnyValues
    case_id: Annotated[str | None, AT_TIMES] = None


@frozen
class PlannedHost:
    agent_id: str
    host: str


@frozen
class PlanShown:
    """A heal (`targets`: a whole outage), a run, or `what` an assistant proposes."""

    rule_id: str = ""
    condition: str = ""
    action: str = ""
    params: AnyValues | None = None
    step: int | None = None
    target: str = ""
    host: str | None = None
    hostname: str | None = None
    rollback: str | None = None
    targets: tuple[PlannedTarget, ...] = ()
    waves: str = ""
    more: int = 0
    name: str = ""
    type: str = ""
    inputs: AnyValues | None = None
    hosts: tuple[PlannedHost, ...] = ()
    what: str = ""
    rule: AnyValues | None = None

    @property
    def given(self) -> Mapping[str, object]:
        return self.params or {}
