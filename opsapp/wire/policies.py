"""Heal policies for agents: what a host may do alone while the server is away. Signed, expiring, with a budget.

The HMAC's secret is made from the agent's key, of which the store has only the SHA-256: whoever reads the store cannot
sign. The server makes the secret when the agent shows its key, and stores it nowhere. Agents without the feature BY_KEY
are older: for them the SHA-256 of the key is the secret.
Must not: decide which rules a host gets, or act.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import field
from typing import Annotated, Any, ClassVar, Mapping, Optional, Tuple

from .actions import ACTIONS, HIGH
from .checks import OnWire, checks_of
from .conditions import ConditionError, parse
from .dataclass import frozen
from .fields import FieldProblem, WireError, record, text
from .kinds import REQUIRED, Choice
from .records import Between, Most, made
from .reports import Id, SmallObject
from .verdicts import VERIFY_TIMEOUT_S

BY_KEY = "policies-by-key"  # the feature of agents that accept no other signature than the one with `secret_of`
_PURPOSE = b"opsapp heal policies"
# What needs an approval, or the server itself, is never done alone.
_ALONE = sorted(name for name, action in ACTIONS.items() if action.risk != HIGH and action.where == "host")


def _condition(value: Any) -> str:
    condition = text(2000, low=1)(value)
    try:
        parse(condition)
    except ConditionError as error:
        raise FieldProblem(f"is no condition: {error}") from None
    return condition


@frozen
class PolicyStep:
    action: Annotated[str, Choice(*_ALONE)]
    params: SmallObject = field(default_factory=dict)


@frozen
class Policy:
    leaves_out_null: ClassVar[bool] = True

    rule_id: Id
    condition: Annotated[str, OnWire(_condition)]
    steps: Annotated[Tuple[PolicyStep, ...], Most(10)]
    for_s: Annotated[float, Between(0, 86400)] = 0
    cooldown_s: Annotated[float, Between(0, 7 * 86400)] = 300
    settle_s: Annotated[Optional[float], Between(0, 3600)] = None  # None: the action's own
    verify_timeout_s: Annotated[float, Between(0, 3600)] = VERIFY_TIMEOUT_S


@frozen
class PolicyTerms:
    policies: Annotated[Tuple[Policy, ...], Most(500)]
    offline_after_s: Annotated[float, Between(0.1, 86400)]
    budget: Annotated[int, Between(0, 10000)]  # heals within `budget_window_s`: this host's share
    budget_window_s: Annotated[float, Between(1, 86400)] = 3600


@frozen
class PolicyBundle(PolicyTerms):
    """It is stored and signed as JSON."""

    agent_id: Id = REQUIRED
    version: Annotated[int, Between(1)] = REQUIRED
    issued_at: Annotated[float, Between(0)] = REQUIRED
    expires_at: Annotated[float, Between(0)] = REQUIRED

    @property
    def terms(self) -> PolicyTerms:
        return PolicyTerms(self.policies, self.offline_after_s, self.budget, self.budget_window_s)


_BUNDLE = checks_of(PolicyBundle)


def read_bundle(value: Any) -> PolicyBundle:
    return made(PolicyBundle, record(value, _BUNDLE, what="policies"))


def secret_of(key: str) -> str:
    """The secret that signs policies; it cannot be made from the key's SHA-256."""
    return hmac.new(key.encode("utf-8"), _PURPOSE, hashlib.sha256).hexdigest()


def sign(bundle: Mapping[str, object], secret: str) -> str:
    canonical = json.dumps(bundle, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return hmac.new(secret.encode("ascii"), canonical.encode("utf-8"), hashlib.sha256).hexdigest()


def check_bundle(bundle: Any, signature: str, secret: str, agent_id: str) -> PolicyBundle:
    """Check a bundle; WireError when it is not signed with this key or not meant for this agent."""
    if not isinstance(bundle, dict) or not hmac.compare_digest(sign(bundle, secret), signature):
        raise WireError("the policies are not signed with this agent's key", "bad_signature")
    clean = read_bundle(bundle)
    if clean.agent_id != agent_id:
        raise WireError("the policies are another agent's", "bad_signature")
    return clean
