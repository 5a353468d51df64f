"""What a node remembers of its agents, read by transactions that began before a change, and while the store is slow."""

import threading

from opsapp.agents.engine import directory as module
from opsapp.agents.engine.directory import directory_of
from opsapp.agents.resources import add_agent, find_agent


def labels(root, node):
    return sorted(facts.label for facts in directory_of(node).all(root))


def added(root):
    agent_id, _ = add_agent(root, "old", [], 0)
    module.touched(root, agent_id)
    return agent_id


def test_a_reader_that_began_before_a_change_does_not_hide_it_from_others(service):
    node, found = service.node, []
    agent_id = service.transact(added)
    assert service.transact(labels, node) == ["old"]

    def rename(root):
        find_agent(root, agent_id).label = "new"
        module.touched(root, agent_id)

    def early(root):
        other = threading.Thread(target=service.transact, args=(rename,))
        other.start()
        other.join()
        node.events.step()  # the event of it has arrived, too
        found.append(labels(root, node))

    service.transact(early)
    assert found == [["old"]], "a transaction sees what was when it began"
    assert service.transact(labels, node) == ["new"]


def test_who_tells_of_a_change_does_not_wait_for_who_reads(service, monkeypatch):
    """The hub looks at the outbox, and a thread may read for as long as a store far away takes."""
    node = service.node
    service.transact(added)
    reading, told = threading.Event(), threading.Event()
    real = module.facts_of

    def slow(agent):
        reading.set()
        assert told.wait(60)
        return real(agent)

    monkeypatch.setattr(module, "facts_of", slow)
    reader = threading.Thread(target=service.transact, args=(labels, node))
    reader.start()
    assert reading.wait(60)
    node.events.step()
    assert directory_of(node).all_known() == []
    assert directory_of(node).behind, "what the reader may have missed is read after it"
    told.set()
    reader.join()
    assert service.transact(labels, node) == ["old"]
