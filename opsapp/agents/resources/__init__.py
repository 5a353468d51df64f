"""What is stored of agents, and the indexes over it: keys, hostnames, agents with unfinished commands."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any

from BTrees.OOBTree import OOBTree

from opsapp.lib.ids import digest, new_id, new_token
from opsapp.lib.problems import Conflict, NotFound
from opsapp.runtime.secrets.seals import Reseal
from opsapp.tree.places import ApiPlace
from opsapp.tree.reading import is_sound
from opsapp.tree.root import Root
from opsapp.wire.records import made, plain
from opsapp.wire.reports import AgentOutcome, LocalOutcome

from .agents import Agent, Agents, AgentState, InstallScript, Manifest, Policies, StreamFacet
from .commands import POLL, SHOWN, Command, Commands, reseal_open

__all__ = [
    "POLL",
    "SHOWN",
    "Agent",
    "AgentState",
    "Agents",
    "Command",
    "Commands",
    "InstallScript",
    "Manifest",
    "Policies",
    "StreamFacet",
    "add_agent",
    "agent_named",
    "agents_of",
    "agents_on",
    "at_work",
    "find_agent",
    "find_by_key",
    "keep_index",
    "keep_outcome",
    "outcomes_wait",
    "place_agent",
    "put_key_back",
    "remove_agent",
    "rename_host",
    "replace_key",
    "reseal",
    "revoke_key",
    "set_up",
    "take_outcomes",
    "with_open_commands",
]

agents_of = ApiPlace[Agents]("agents")
KEYS, HOSTNAMES, OPEN, OUTCOMES = "agent-keys", "agent-hostnames", "agent-open", "agent-outcomes"


def set_up(root: Root) -> None:
    """Evolve step: no agents yet."""
    agents_of.put(root, Agents())
    for name in (KEYS, HOSTNAMES, OPEN, OUTCOMES):
        root.system[name] = OOBTree()


def reseal(root: Root, reseal: Reseal) -> None:
    """`opsapp rekey`."""
    reseal_open(at_work(root), reseal)


def find_agent(root: Root, agent_id: str) -> Agent:
    agent = agents_of(root).get(agent_id)
    if agent is None:
        raise NotFound(f"There is no agent {agent_id}.")
    return agent


def find_by_key(root: Root, key: str) -> Agent | None:
    agent_id = root.system[KEYS].get(digest(key))
    return None if agent_id is None else agents_of(root).get(agent_id)


def agent_named(root: Root, name: str) -> Agent:
    """The agent with this id, hostname or label. A name that several agents have is refused; an id never is."""
    agent_ids = agents_called(root, name)
    if len(agent_ids) > 1:
        raise Conflict(f"Several agents are called {name}: use the id.", code="ambiguous_host")
    return find_agent(root, agent_ids[0] if agent_ids else name)


def agents_called(root: Root, name: str) -> list[str]:
    """An id is nobody else's name. Whoever reports the label of another as its hostname does not get it."""
    agents = agents_of(root)
    if name in agents:
        return [name]
    labelled = [agent_id for agent_id, agent in agents.items() if agent.label == name]
    return list(dict.fromkeys([*root.system[HOSTNAMES].get(name, ()), *labelled]))


def add_agent(root: Root, label: str, tags: Sequence[str], now: float) -> tuple[str, str]:
    """Add an agent; its id and its key, which is kept nowhere."""
    agent_id, key = new_id(), new_token()
    agents_of(root)[agent_id] = Agent(label, tags, digest(key), now)
    root.system[KEYS][digest(key)] = agent_id
    return agent_id, key


def agents_on(root: Root, machine_id: str, hostname: str) -> list[Agent]:
    """Copies of a machine share its id, and have names of their own."""
    named = [agents_of(root)[agent_id] for agent_id in root.system[HOSTNAMES].get(hostname, ())]
    return [agent for agent in named if machine_id and agent.profile.get("machine_id") == machine_id]


def put_key_back(root: Root, agent: Agent, key_digest: str) -> None:
    """The key that it had before counts again, and no other; none when it had none."""
    revoke_key(root, agent)
    if key_digest:
        agent.key_digest = key_digest
        root.system[KEYS][key_digest] = agent.id


def replace_key(root: Root, agent: Agent) -> str:
    """Replace the key; the old one is worth nothing from the commit on."""
    revoke_key(root, agent)
    key = new_token()
    agent.key_digest = digest(key)
    root.system[KEYS][agent.key_digest] = agent.id
    return key


def revoke_key(root: Root, agent: Agent) -> None:
    """Revoke the agent's key; it is fine when there is none."""
    root.system[KEYS].pop(agent.key_digest, None)
    agent.key_digest = ""


def remove_agent(root: Root, agent: Agent) -> None:
    """Remove an agent with all that hangs on it. Its series are named nowhere any more."""
    rename_host(root, agent, "")
    revoke_key(root, agent)
    root.system[OPEN].pop(agent.id, None)
    waiting = root.system[OUTCOMES]
    for name in list(waiting.keys(f"{agent.id}:", f"{agent.id};")):
        del waiting[name]
    del agents_of(root)[agent.id]


def place_agent(root: Root, agent: Agent, key_digest: str) -> None:
    """It was removed, and is back with its key and its name."""
    agents_of(root)[agent.id] = agent
    put_key_back(root, agent, key_digest)
    rename_host(root, agent, agent.hostname)
    keep_index(root, agent)


def rename_host(root: Root, agent: Agent, hostname: str) -> None:
    """Keep the index of hostnames; `profile` is the caller's."""
    names = root.system[HOSTNAMES]
    if agent.hostname:
        left = tuple(agent_id for agent_id in names.get(agent.hostname, ()) if agent_id != agent.id)
        if left:
            names[agent.hostname] = left
        else:
            names.pop(agent.hostname, None)
    if hostname:
        names[hostname] = (*names.get(hostname, ()), agent.id)


def keep_index(root: Root, agent: Agent) -> None:
    """Keep the index after the agent's commands changed."""
    index: Any = root.system[OPEN]
    if bool(agent.commands.open) != (agent.id in index):
        if agent.commands.open:
            index[agent.id] = 1
        else:
            del index[agent.id]


def with_open_commands(root: Root) -> list[str]:
    return list(root.system[OPEN])


def at_work(root: Root, among: Container[str] | None = None) -> Iterator[Agent]:
    """Agents with unfinished commands, of all or among those, as far as they and their commands can be read."""
    agents = agents_of(root)
    wanted = [agent_id for agent_id in with_open_commands(root) if among is None or agent_id in among]
    for agent_id, agent in agents.some_items(wanted):
        if is_sound(agents, "commands of agent", agent_id, agent.commands):
            yield agent


def keep_outcome(root: Root, agent_id: str, outcome: LocalOutcome) -> None:
    """Keep an outcome once, however often it is sent."""
    root.system[OUTCOMES].setdefault(f"{agent_id}:{outcome.outcome_id}", {**plain(outcome), "agent_id": agent_id})


def outcomes_wait(root: Root) -> bool:
    """Whether outcomes wait, by a look that costs nothing."""
    return bool(root.system[OUTCOMES])


def take_outcomes(root: Root, most: int = 100) -> list[AgentOutcome]:
    """Take outcomes, which are then the caller's, in its transaction."""
    waiting = root.system[OUTCOMES]
    names = list(waiting)[:most]
    outcomes = (made(AgentOutcome, waiting.pop(name)) for name in names)
    return sorted(outcomes, key=lambda outcome: outcome.created_at)
