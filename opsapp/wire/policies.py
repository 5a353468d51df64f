"""Heal policies for agents: what a host may do alone while the server is away. Signed, expiring, with a budget.

The signature is an HMAC-SHA256 with a secret made from the agent's key. The server stores only the SHA-256 of that key,
so whoever reads the store cannot sign: the server makes the secret when the agent shows its key, and stores it nowhere.
Agents that do not name the feature BY_KEY are older: for them the SHA-256 of the key is the secret.
Must not: decide which rules a host gets, or act.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any, Dict, NamedTuple, Optional, Tuple

from .actions import ACTIONS, HIGH
from .conditions import ConditionError, parse
from .fields import (
    FieldProblem,
    JsonObject,
    WireError,
    WireField,
    choice,
    integer,
    json_object,
    listing,
    may,
    need,
    nested,
    number,
    record,
    text,
)
from .verdicts import VERIFY_TIMEOUT_S

BY_KEY = "policies-by-key"  # the feature of agents that accept no other signature than the one with `secret_of`
_PURPOSE = b"opsapp heal policies"
_ID = text(64, low=1, pattern=r"[A-Za-z0-9_.:-]+")


def _condition(value: Any) -> str:
    condition = text(2000, low=1)(value)
    try:
        parse(condition)
    except ConditionError as error:
        raise FieldProblem(f"is no condition: {error}") from None
    return condition


STEP: Dict[str, WireField] = {
    # What needs an approval, or the server itself, is never done alone.
    "action": need(
        choice(*sorted(name for name, action in ACTIONS.items() if action.risk != HIGH and action.where == "host"))
    ),
    "params": may(json_object(65536), {}),
}
POLICY: Dict[str, WireField] = {
    "rule_id": need(_ID),
    "condition": need(_condition),
    "for_s": may(number(0, 86400), 0),
    "cooldown_s": may(number(0, 7 * 86400), 300),
    "settle_s": may(number(0, 3600)),
    "verify_timeout_s": may(number(0, 3600), VERIFY_TIMEOUT_S),
    "steps": need(listing(nested(STEP), 10)),
}
BUNDLE: Dict[str, WireField] = {
    "agent_id": need(_ID),
    "version": need(integer(1)),
    "issued_at": need(number(0)),
    "expires_at": need(number(0)),
    "offline_after_s": need(number(0.1, 86400)),
    "budget": need(integer(0, 10000)),  # heals within budget_window_s: this host's share
    "budget_window_s": may(number(1, 86400), 3600),
    "policies": need(listing(nested(POLICY), 500)),
}


class PolicyStep(NamedTuple):
    """An action, as STEP has it."""

    action: str
    params: JsonObject = {}


class Policy(NamedTuple):
    """What a host may do alone for one rule, as POLICY has it."""

    rule_id: str
    condition: str
    steps: Tuple[PolicyStep, ...]
    for_s: float = 0
    cooldown_s: float = 300
    settle_s: Optional[float] = None  # None: the action's own
    verify_timeout_s: float = VERIFY_TIMEOUT_S

    @classmethod
    def read(cls, sent: JsonObject) -> "Policy":
        steps = tuple(PolicyStep(step["action"], step.get("params") or {}) for step in sent["steps"])
        return cls(**{**{name: sent[name] for name in cls._fields if name in sent}, "steps": steps})

    def sent(self) -> JsonObject:
        whole: JsonObject = {**self._asdict(), "steps": [step._asdict() for step in self.steps]}
        return {name: value for name, value in whole.items() if value is not None}


class PolicyTerms(NamedTuple):
    """What a host may do alone, after how long a silence, and how many heals within `budget_window_s`."""

    policies: Tuple[Policy, ...]
    offline_after_s: float
    budget: int
    budget_window_s: float = 3600


class PolicyBundle(NamedTuple):
    """What one host was given, as BUNDLE has it."""

    agent_id: str
    version: int
    issued_at: float
    expires_at: float
    terms: PolicyTerms

    @classmethod
    def read(cls, sent: JsonObject) -> "PolicyBundle":
        own = {name: sent[name] for name in PolicyTerms._fields if name in sent}
        terms = PolicyTerms(**{**own, "policies": tuple(Policy.read(policy) for policy in sent["policies"])})
        return cls(sent["agent_id"], sent["version"], sent["issued_at"], sent["expires_at"], terms)

    def sent(self) -> JsonObject:
        """As it is stored and signed."""
        whole: JsonObject = {**self._asdict(), **self.terms._asdict()}
        del whole["terms"]
        return {**whole, "policies": [policy.sent() for policy in self.terms.policies]}


def secret_of(key: str) -> str:
    """What signs the policies of the agent with this key. It cannot be made from the key's SHA-256."""
    return hmac.new(key.encode("utf-8"), _PURPOSE, hashlib.sha256).hexdigest()


def sign(bundle: JsonObject, secret: str) -> str:
    return hmac.new(secret.encode("ascii"), _canonical(bundle), hashlib.sha256).hexdigest()


def check_bundle(bundle: Any, signature: str, secret: str, agent_id: str) -> PolicyBundle:
    """The validated bundle; WireError when it is not signed with this key or not meant for this agent."""
    if not isinstance(bundle, dict) or not hmac.compare_digest(sign(bundle, secret), signature):
        raise WireError("the policies are not signed with this agent's key", "bad_signature")
    clean = PolicyBundle.read(record(bundle, BUNDLE, what="policies"))
    if clean.agent_id != agent_id:
        raise WireError("the policies are another agent's", "bad_signature")
    return clean


def _canonical(bundle: JsonObject) -> bytes:
    canonical = json.dumps(bundle, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return canonical.encode("utf-8")
