"""How commands that wait for their agent go with a clock that was set: a piece of the agents at a time.

Whoever asks an agent for more, or hands its commands out, first moves those that it has.
"""

from __future__ import annotations

from opsapp.agents.resources import Agent, agents_of, with_open_commands
from opsapp.runtime.clocks.pieces import ClockPieces, WaitingKind
from opsapp.tree.reading import is_sound
from opsapp.tree.root import Root

LEASE = AGENTS = "agents"


def settle(root: Root, agent: Agent) -> None:
    """This agent's now."""
    if PIECES.is_left(root) and (by := PIECES.take(root, AGENTS, agent.id)):
        _move(agent, by)


def _move(agent: Agent, by: float) -> int:
    moved = 0
    for command in agent.commands.unfinished():
        command.expires_at += by
        moved += 1
    return moved


def _shift(root: Root, agent_id: str, by: float) -> int:
    for _, agent in agents_of(root).some_items([agent_id]):
        if is_sound(agents_of(root), "commands of agent", agent_id, agent.commands):
            return _move(agent, by)
    return 0


PIECES = ClockPieces(LEASE, "commands", {AGENTS: WaitingKind(lambda root, _: with_open_commands(root), _shift)})
