"""What agents may heal alone: a bundle per agent, kept here and signed on its way out. Transactions only.

The secret is made from the key that the agent shows with its session or poll (`wire.policies`). The agent names the
version that it holds in its hello and in its reports; whatever is newer here is sent: in the session that is open, at
the next hello, or with the answer to a poll.
Must not: decide which rules a host gets.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from opsapp.agents.resources import Agent, Policies, agents_of, find_agent
from opsapp.lib.ids import digest
from opsapp.lib.problems import Invalid
from opsapp.runtime.node import now_of
from opsapp.tree.root import Root
from opsapp.wire.fields import WireError
from opsapp.wire.messages import SignedPolicies
from opsapp.wire.policies import BY_KEY, PolicyBundle, PolicyTerms, read_bundle, secret_of, sign
from opsapp.wire.records import made, plain

from .directory import touched

MOST_VERSION = 2**50


class ShownKey(NamedTuple):
    """The key as shown by an agent; only this is kept of it, in memory."""

    digest: str
    secret: str  # signs its policies

    def secret_for(self, features: Collection[str]) -> str:
        """The secret to sign with; an older agent knows the signature with the digest only."""
        return self.secret if BY_KEY in features else self.digest


def shown_key(key: str) -> ShownKey:
    return ShownKey(digest(key), secret_of(key))


class NewerPolicies(NamedTuple):
    version: int
    signed: SignedPolicies


def give_policies(root: Root, agent_id: str, terms: PolicyTerms, *, expires_at: float) -> int:
    """The agent holds these policies from now on, and no others (none at all is fine). Returns the bundle's version,
    which only grows. Invalid when the agent would refuse them."""
    agent = find_agent(root, agent_id)
    version = version_of(agent) + 1
    now = now_of(root)
    given = PolicyBundle(**vars(terms), agent_id=agent_id, version=version, issued_at=now, expires_at=expires_at)
    bundle = plain(given)
    try:
        read_bundle(bundle)
    except WireError as wrong:
        raise Invalid(wrong.fields or {"policies": str(wrong)}) from None
    agent.policies = Policies(bundle, () if agent.policies is None else agent.policies.earlier())
    touched(root, agent_id, policy_version=version)
    return version


def policies_of(root: Root, agent_id: str) -> PolicyBundle | None:
    """The agent's policies; None before the first."""
    agent = find_agent(root, agent_id)
    return None if agent.policies is None else made(PolicyBundle, agent.policies.bundle)


def terms_of(root: Root, agent_id: str, version: int) -> tuple[int, float] | None:
    """(budget, its window) of the bundle of this version, or of the present one where that version is not known any
    more; None when the agent was never given any."""
    agent = agents_of(root).get(agent_id)
    if agent is None or agent.policies is None:
        return None
    known = {old: (budget, window_s) for old, budget, window_s in agent.policies.earlier()}
    return known.get(version) or known[version_of(agent)]


def catch_up(root: Root, agent: Agent, held: int | None) -> None:
    """The agent holds a later version than the store knows, which has gone back to a backup: what it may do by what the
    store knows is given to it anew."""
    if agent.policies is not None and held is not None and version_of(agent) < held < MOST_VERSION:
        agent.policies = Policies({**agent.policies.bundle, "version": held + 1}, agent.policies.earlier())
        touched(root, agent.id)


def version_of(agent: Agent) -> int:
    return 0 if agent.policies is None else agent.policies.bundle["version"]


def newer_than(agent: Agent, held: int | None, secret: str) -> NewerPolicies | None:
    """Signed with `secret`, when the agent holds an older version than this node knows."""
    if agent.policies is None or version_of(agent) <= (held or 0):
        return None
    bundle = agent.policies.bundle
    return NewerPolicies(version_of(agent), SignedPolicies(bundle, sign(bundle, secret)))


def waiting_policies(root: Root, agent_id: str, held: int, secret: str) -> NewerPolicies | None:
    """The newer policies that wait, for a session that is open."""
    agent = agents_of(root).get(agent_id)
    return None if agent is None else newer_than(agent, held, secret)
