"""A store that is away or full is told of once, not once a second for each agent."""

import logging

from opsapp.agents.engine.store_waits import Patience
from opsapp.lib.problems import StoreAway, StoreFull
from tests.support.clock import FakeClock


def test_agents_that_wait_have_one_line_between_them(caplog):
    caplog.set_level(logging.INFO)
    clock = FakeClock()
    patience = Patience(clock)

    def told():
        lines = [(record.levelname, record.message) for record in caplog.records]
        caplog.clear()
        return lines

    for _ in range(119):
        for agent in ("a", "b", "c"):
            patience.waits(agent, StoreAway())
        clock.advance(1)
    lines = told()
    assert [level for level, _ in lines] == ["WARNING", "WARNING"]
    assert "count=1" in lines[0][1]
    assert "count=3" in lines[1][1]
    patience.waits("a", StoreFull())  # that is a change
    assert [("full" in line) for _, line in told()] == [True]
    patience.over("a")
    patience.over("b")
    assert told() == []
    patience.over("c")
    patience.over("c")
    assert [level for level, _ in told()] == ["INFO"]
    patience.waits("a", StoreAway())
    assert [level for level, _ in told()] == ["WARNING"]
