"""Root causes over the wire: what a failed host hangs on is an agent that reports seldom, and is asked at once."""

import os

import pytest

from tests.support.agent_process import AgentProcess
from tests.support.process import Serve
from tests.support.waiting import until

from .test_healing import CONFIG, box_of, final, promote

pytestmark = pytest.mark.system

SELDOM_S = 3600  # no report of a session comes by itself
CAUSE_WAIT_S = 600  # so long a heal would wait for a report that it asked for


class OwnAgent(AgentProcess):
    """The real agent program, under an id and a key that the server made."""

    def __init__(self, directory, server, agent_id, key):
        directory.mkdir()
        super().__init__(directory, server)
        self.agent_id = agent_id
        (directory / "key").write_text(key + "\n")

    def argv(self, *more):
        return [self.agent_id if each == "a1" else each for each in super().argv(*more)]


@pytest.fixture
def server(tmp_path):
    healing = {**CONFIG["healing"], "cause_wait_s": CAUSE_WAIT_S}
    with Serve(tmp_path, {"agents": {"report_interval_s": SELDOM_S}, "healing": healing}) as server:
        yield server


def about(server, agent_id):
    return server.admin.get(f"/api/agents/{agent_id}")


def test_an_agent_above_is_asked_for_a_report_and_the_heal_waits_no_longer_than_for_that(server, tmp_path):
    """The heal is over although no report comes by itself, and the time that it would wait for one is not over."""
    made = server.admin.post("/api/agents", {"label": "above"})
    above, box = made["agent_id"], box_of(server)
    with OwnAgent(tmp_path / "above", server, above, made["key"]):
        until(lambda: about(server, above)["connected"], what="a session")
        until(lambda: about(server, box.agent_id)["status"] == "online", what="the agent being online")
        graph = [{"target": os.uname().nodename}, {"target": "box-1", "depends_on": [os.uname().nodename]}]
        server.admin.put("/api/healing/dependencies", {"dependencies": graph})
        promote(server, "execute")
        reported_at = until(lambda: about(server, above)["metrics_at"], what="the report of its start")
        until(lambda: about(server, box.agent_id)["metrics_at"] > reported_at, what="the next whole second")
        box.state = "failed"
        [entry] = final(server)
        box.stop()
    assert entry["outcome"] == "verified"
    assert about(server, above)["metrics_at"] > reported_at
