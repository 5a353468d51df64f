"""What waits for an agent goes out, whatever else happens while the node looks for it."""

import pytest

from opsapp.agents import engine
from opsapp.agents.engine.sessions import sessions_of
from opsapp.agents.resources import add_agent, find_agent


class OpenSession:
    """Of an agent that reads what it is sent."""

    def __init__(self, agent_id):
        self.id, self.agent_id, self.number, self.ended = f"session-{agent_id}", agent_id, 1, False
        self.offered = []

    def offer(self, sent, cancels):
        self.offered += sent


@pytest.fixture
def waiting(service):
    """An agent for whom a command waits."""

    def waiting(name):
        agent = service.transact(lambda root: add_agent(root, name, [], service.clock.now())[0])
        service.transact(
            lambda root: engine.send_command(
                root, find_agent(root, agent).id, "shell", {"command": "true"}, requested_by="test"
            )
        )
        return agent

    return waiting


@pytest.mark.parametrize("during", ["with_open_commands", "claim"])
def test_an_agent_that_arrives_while_others_are_served_gets_its_commands(service, waiting, monkeypatch, during):
    sessions, present = sessions_of(service.node), OpenSession(waiting("box-1"))
    sessions.live[present.agent_id] = present
    sessions.push()
    arriving = OpenSession(waiting("box-2"))
    real = service.node.transact

    def transact(fn, *values):
        answer = real(fn, *values)
        if fn.__name__ == during and arriving.agent_id not in sessions.live:
            sessions.live[arriving.agent_id] = arriving
            sessions.welcomed()
        return answer

    monkeypatch.setattr(service.node, "transact", transact)
    sessions.push()
    sessions.push()
    assert len(present.offered) == len(arriving.offered) == 1


def test_a_push_that_fails_is_made_again(service, waiting, monkeypatch):
    sessions, present = sessions_of(service.node), OpenSession(waiting("box-1"))
    sessions.live[present.agent_id] = present
    real = service.node.transact

    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(service.node, "transact", broken)
    with pytest.raises(ZeroDivisionError):
        sessions.push()
    monkeypatch.setattr(service.node, "transact", real)
    sessions.push()
    assert len(present.offered) == 1
