"""What a viewer sees of what a service holds: one table, and a walk through everything that can be asked.

Words are planted in commands, outputs, variables, inputs, addresses, secrets and logs of a service in the middle of its
work (`tests/support/planted.py`). A viewer and an admin ask everything that the API document, the table of pages and
the tools for assistants have. A word of a new field or route comes up at a place that no row names, and this fails.
"""

import pytest

from opsapp.web import openapi, sse
from tests.engine.healing import Ward
from tests.support.planted import Walk, filled, plant

RUN = {"GET /api/automations/runs/{run_id}", "page /automations/runs/{run_id}"}
RUN_STREAM = {"stream /api/automations/runs/{run_id}/stream"}
RUN_LISTS = {
    "GET /api/automations/runs",
    "GET /api/automations/{automation_id}/runs",
    "page /automations/{id}",
    "page /",
}
REQUEST = {"GET /api/approvals", "GET /api/approvals/{request_id}", "page /approvals/{request_id}",
           "page /approvals", "tool get_request", "tool list_requests"}  # fmt: skip
EVENTS = {"stream /api/stream"}
AUTOMATION = {"GET /api/automations/export", "GET /api/automations/{automation_id}", "page /automations/{id}",
              "tool get_automation"}  # fmt: skip
HEAL = {"GET /api/healing/ledger", "GET /api/healing/cases/{case_id}", "GET /api/healing/letter",
        "page /healing/ledger", "page /healing/cases/{case_id}", "page /healing/letter", "tool explain_case",
        "tool list_ledger"}  # fmt: skip
INCIDENT = {"GET /api/monitoring/incidents", "GET /api/monitoring/incidents/{incident_id}",
            "GET /api/monitoring/incidents/{incident_id}/post-mortem",
            "GET /api/monitoring/incidents/{incident_id}/war-room", "page /", "page /incidents/{id}",
            "page /incidents/{id}/post-mortem.md", "tool explain_incident", "tool get_incident",
            "tool list_incidents"}  # fmt: skip

# By the word: every place where a viewer reads it.
SEEN = {
    # what an automation runs is its definition, which everybody reads; values of `env` are not in it
    **dict.fromkeys(("script-text", "host-command-text", "host-script-text"), AUTOMATION | REQUEST | EVENTS),
    # what a person gave a run, for whoever approves it
    **dict.fromkeys(("own-input", "there-input", "call-input", "on-host-input"), RUN | REQUEST | EVENTS),
    # what a run wrote on the service's own machine, and what a webhook answered
    **dict.fromkeys(("own-run-output", "call-run-output"), RUN | RUN_STREAM),
    # why a run failed
    **dict.fromkeys(("own-run-reason", "call-run-reason", "host-run-reason"), RUN | RUN_STREAM | RUN_LISTS | EVENTS),
    # why a heal failed, and what people said of things
    "heal-reason": HEAL | EVENTS,
    "vote-comment": REQUEST | RUN | RUN_STREAM | RUN_LISTS | EVENTS,
    "incident-update": INCIDENT | EVENTS | {"GET /api/monitoring/incidents/{incident_id}/updates", "page /incidents"},
    "event-summary": INCIDENT | EVENTS | {"GET /api/overview", "page /find", "resource", "tool overview"},
}

# Places that show the newest few, or what waits: not every word of theirs comes up there.
PASSING = {"page /", "page /approvals", "tool list_requests", "page /find"}

# On the public status page: everybody reads them, wherever they are.
PUBLIC = {"notice-text"}

# Operators or admins read these somewhere, viewers nowhere.
HIDDEN = {
    # of commands on hosts: what they were asked, what they wrote, why they failed; however they came to be
    "command-text", "command-env", "command-output", "command-reason", "log-output", "log-reason", "host-run-output",
    # what a heal's commands wrote, and what its snapshot holds
    "heal-output", "snapshot-state",
    # variables, headers, bodies, and who asks and how of addresses
    "script-env", "host-script-env", "webhook-address", "webhook-header", "webhook-body", "monitor-address",
    "monitor-header", "monitor-body", "monitor-password", "action-address", "action-body",
}  # fmt: skip

# Nobody is ever shown these: they go in, and are used.
NOBODY = {"secret-value", "channel-user", "channel-pass", "channel-header", "monitor-community", "event-link",
          "snapshot-output"}  # fmt: skip

# What an agent feeds: it judges itself what a viewer may read (test_agent_files.py, test_agent_streams.py).
# The stream of a command is for operators (tests/api/roles_table.py).
FILES = "/api/agents/{agent_id}/files"
ELSEWHERE = {
    "/api/agents/{agent_id}/stream/logs",
    "/api/agents/{agent_id}/stream/metrics",
    "/api/agents/{agent_id}/commands/{command_id}/stream",
}
WALKED = {"/api/stream", "/api/automations/runs/{run_id}/stream"}


class World:
    def __init__(self, ward):
        self.ward, self.ids = ward, plant(ward)
        ids = self.ids
        self.viewer = Walk(ward.service, "vera", ids).all()
        self.admin = Walk(ward.service, "ada", ids).all()
        self.registry = ward.service.app.registry


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
        ward = Ward(tmp_path_factory.mktemp("planted"))
    try:
        yield World(ward)
    finally:
        ward.close()


def test_a_viewer_sees_what_the_table_says_and_nothing_else(world):
    shown = {name: places for name, places in world.viewer.found.items() if name not in PUBLIC}
    found = {name: places - SEEN.get(name, set()) for name, places in shown.items()}
    assert {name: places for name, places in found.items() if places} == {}


def test_each_row_of_what_a_viewer_sees_is_so(world):
    """Else the table would say more than is true, and a field that is gone would stay in it."""
    lacking = {name: places - PASSING - world.viewer.found[name] for name, places in SEEN.items()}
    assert {name: places for name, places in lacking.items() if places} == {}


def test_what_is_hidden_from_viewers_is_there(world):
    """Each word was planted, and somebody reads it: its absence above says something."""
    assert HIDDEN - world.admin.found.keys() == set()
    assert SEEN.keys() - world.admin.found.keys() == set()
    assert world.admin.found.keys() == HIDDEN | PUBLIC | SEEN.keys()


def test_what_nobody_is_shown_comes_up_nowhere(world):
    assert NOBODY & (world.admin.found.keys() | world.viewer.found.keys()) == set()


def test_the_walk_comes_by_everything(world):
    """Every path that a viewer may ask answered at least once, but for those that need what is not here."""
    views = [view for view in openapi.endpoints(world.registry) if view.method == "GET" and view.role == "viewer"]
    streams = {view.path for view in views if view.options.get("returns") == sse.CONTENT_TYPE}
    every = {view.path for view in openapi.endpoints(world.registry) if view.options.get("returns") == sse.CONTENT_TYPE}
    assert every == ELSEWHERE | WALKED
    paths = {view.path for view in views if view.path.startswith(("/api", "/metrics"))} - streams
    asked = {place.removeprefix("GET ") for place in world.viewer.answered if place.startswith("GET ")}
    assert paths - asked == {FILES}
    assert len([place for place in world.viewer.answered if place.startswith("page ")]) > 60
    assert len([place for place in world.viewer.answered if place.startswith("tool ")]) > 20


@pytest.mark.parametrize("path", ["/automations/runs/{run_id}", "/agents/{agent_id}/commands/{command_id}"])
def test_a_page_says_that_what_hosts_wrote_is_not_for_viewers(world, path):
    """The record says `***`, which nobody can tell from what a program wrote."""
    service, said = world.ward.service, {"vera": set(), "ada": set()}
    for place in filled(path, world.ids):
        for who, sentences in said.items():
            page = service.browser(who).get(place, expect_errors=True)
            if page.status_int == 200:
                (output,) = page.html.select("#output")
                sentences.add(output.select_one(".dim").text if output.select_one(".dim") else "")
                assert output.select_one("pre").text != "***"
    unseen = "What hosts wrote is for operators and admins."
    assert unseen in said["vera"]
    assert unseen not in said["ada"]
