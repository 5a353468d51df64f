"""Which agent a name from elsewhere means: that of one agent, and of nobody where two go by it."""

import pytest

from opsapp.healing.engine.inventory import Inventory, Member


def member(agent_id, hostname, label, **more):
    return Member(f"agent:{agent_id}", hostname, agent_id, (hostname, agent_id, label), **more)


@pytest.mark.parametrize(
    ("name", "agent_id"),
    [("box-1", "a1"), ("front", "a1"), ("a1", "a1"), ("same", None), ("twin", None), ("a3", "a3"), ("nobody", None)],
)
def test_a_name_of_two_is_nobodys(name, agent_id):
    inventory = Inventory(
        [
            member("a1", "box-1", "front"),
            member("a2", "box-2", "same"),
            member("a3", "twin", "same", ambiguous=True),
            member("a4", "a1", "thief"),
            Member("monitor:m1", "nobody", None, ("nobody",)),
        ]
    )
    agent = inventory.agent_named(name)
    assert (agent and agent.agent_id) == agent_id
