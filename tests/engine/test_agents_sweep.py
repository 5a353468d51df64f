"""Silence and overdue commands, by the sweep's step with a clock in the hand."""

from dataclasses import replace

import pytest

from opsapp.agents import engine
from opsapp.agents.config import AgentSettings
from opsapp.agents.engine import reports, session_store, sweep
from opsapp.agents.engine.policies import shown_key
from opsapp.agents.logic import BACK_WITHIN_S
from opsapp.agents.resources import add_agent, find_agent
from opsapp.lib.problems import Invalid, NotFound
from opsapp.notify.resources import inbox
from opsapp.runtime.events import read_since
from opsapp.wire.reports import AgentOutcome, CommandResult, HostReport, LocalOutcome

REPORT = HostReport("box-1", "Debian 12", held=())


@pytest.fixture
def node(service):
    service.node.leases.want(sweep.LEASE)
    service.node.leases.step()
    return service.node


@pytest.fixture
def agent(service):
    return service.transact(lambda root: add_agent(root, "web", [], service.clock.now())[0])


def report(service, agent, **more):
    said = replace(REPORT, **more)
    key = shown_key("k" * 64)
    return service.transact(lambda root: reports.take_poll(root, find_agent(root, agent), said, key=key, ip="10.0.0.1"))


def send(service, agent, **more):
    return service.transact(
        lambda root: engine.send_command(root, agent, "shell", {"command": "true"}, requested_by="test", **more)
    )


def status(service, agent, command_id):
    return service.transact(engine.command_of, agent, command_id).status


def statuses(service):
    events = service.transact(lambda root: read_since(root, {})[1])
    return [(event.data["previous"], event.data["status"]) for event in events if event.kind == "agent"]


def test_each_change_of_state_is_told_once(service, node, agent):
    sweep.step(node)
    report(service, agent)
    report(service, agent)
    for seconds in (31, 0, 300, 0):
        service.clock.advance(seconds)
        sweep.step(node)
    report(service, agent)
    assert statuses(service) == [("pending", "online"), ("online", "offline"), ("offline", "dead"), ("dead", "online")]


# -- an outage of the service -----------------------------------------------------------------------------------------


@pytest.fixture
def after_an_outage(service, node, agent):
    """The service was away for ten minutes, and the agent was online before."""
    report(service, agent)
    sweep.step(node)
    service.clock.advance(600)
    node.started_at = service.clock.now()
    sweep.step(node)
    return agent


def row(service, agent):
    [row] = service.vera.get("/api/agents").json
    assert row["id"] == agent
    return row["status"], row["unheard"]


def test_a_host_that_comes_back_after_an_outage_of_the_service_was_never_away(service, node, after_an_outage):
    assert row(service, after_an_outage) == ("offline", True)
    service.clock.advance(BACK_WITHIN_S - 1)
    sweep.step(node)
    report(service, after_an_outage)
    sweep.step(node)
    assert statuses(service) == [("pending", "online")]
    assert row(service, after_an_outage) == ("online", False)


def test_a_host_that_does_not_come_back_after_an_outage_is_told(service, node, after_an_outage):
    service.clock.advance(BACK_WITHIN_S + 1)
    sweep.step(node)
    assert statuses(service) == [("pending", "online"), ("online", "dead")]
    assert row(service, after_an_outage) == ("dead", False)
    [told] = [message for message in service.transact(inbox.take, 1000) if message.target == after_an_outage]
    assert (told.title, told.phase) == ("box-1 is offline", "begins")


def test_a_host_that_was_heard_since_our_start_and_falls_silent_is_told_as_ever(service, node, after_an_outage):
    report(service, after_an_outage)
    service.clock.advance(31)
    sweep.step(node)
    assert statuses(service)[-1] == ("online", "offline")


def test_agents_that_report_rarely_have_two_intervals_to_come_back(service, node, after_an_outage):
    service.configure(AgentSettings, report_interval_s=120.0)
    service.clock.advance(239)
    sweep.step(node)
    assert row(service, after_an_outage) == ("offline", True)
    service.clock.advance(2)
    sweep.step(node)
    assert row(service, after_an_outage) == ("offline", False), "not yet dead, with 20 of these intervals"


def test_silence_counts_from_when_a_node_listens_again(service, node, agent):
    """This node is an engine alone: the one that agents report to was away."""
    report(service, agent)
    node.roles = frozenset({"engine"})
    service.clock.advance(600)
    sweep.listen(node)
    sweep.step(node)
    assert row(service, agent) == ("offline", True)
    service.clock.advance(BACK_WITHIN_S + 1)
    sweep.step(node)
    assert row(service, agent) == ("dead", False)


def test_health_and_overview_know_no_host_that_is_away_before_it_had_time_to_return(service, node, after_an_outage):
    health = service.vera.get("/api/healing/health").json
    assert (health["status"], health["reasons"]) == ("Active", [])
    assert health["notes"] == ["1 of 1 agents: not heard at the moment, with time left to come back"]
    overview = service.vera.get("/api/overview").json
    assert overview["agents"]["reporting"] == 0
    assert [(trouble["name"], trouble["status"]) for trouble in overview["troubles"]] == [("box-1", "unknown")]
    page = service.browser("vera").get("/agents")
    assert "Not heard since the service started" in page
    service.clock.advance(BACK_WITHIN_S + 1)
    health = service.vera.get("/api/healing/health").json
    assert (health["status"], health["reasons"]) == ("Degraded", ["1 of 1 agents are away"])


@pytest.mark.parametrize("off", [-86_400, 0, 86_400])
def test_the_times_of_a_command_are_in_order_whatever_the_hosts_clock_says(service, node, agent, off):
    command = send(service, agent)
    began = service.clock.now()
    report(service, agent)
    service.clock.advance(10)
    said = CommandResult(command, "done", started_at=began + off, finished_at=began + off + 5)
    report(service, agent, results=(said,))
    found = service.transact(engine.command_of, agent, command)
    times = [getattr(found, name) for name in ("created_at", "delivered_at", "started_at", "finished_at")]
    assert times == sorted(times)
    assert began <= times[0]
    assert times[-1] <= service.clock.now()
    if not off:
        assert times[-1] - times[0] == 5, "what it says is taken where it can be"


def test_what_was_never_handed_out_expires(service, node, agent):
    command = send(service, agent)
    service.clock.advance(3599)
    sweep.step(node)
    assert status(service, agent, command) == "queued"
    service.clock.advance(1)
    assert report(service, agent).commands == ()
    sweep.step(node)
    assert status(service, agent, command) == "expired"


def test_what_may_have_arrived_is_not_called_expired(service, node, agent):
    command = send(service, agent, expiry=10)
    assert report(service, agent).commands
    service.clock.advance(11)
    sweep.step(node)
    assert status(service, agent, command) == "lost"


def test_an_agent_that_never_comes_back_is_not_waited_for_for_ever(service, node, agent):
    command = send(service, agent)
    report(service, agent, held=None)
    assert status(service, agent, command) == "delivered"
    service.clock.advance(86_400)
    sweep.step(node)
    assert status(service, agent, command) == "delivered"
    service.clock.advance(61)
    sweep.step(node)
    assert status(service, agent, command) == "lost"


def test_a_command_is_committed_with_what_its_sender_writes_or_not_at_all(service, node, agent):
    def send_and_fail(root):
        engine.send_command(root, agent, "shell", {"command": "true"}, requested_by="test")
        raise RuntimeError("the sender changed its mind")

    with pytest.raises(RuntimeError):
        service.transact(send_and_fail)
    assert report(service, agent).commands == ()


def test_answers_for_the_rooms_above(service, node, agent):
    command = send(service, agent, timeout=5)
    assert service.transact(engine.answer_of, agent, command) is None
    [handed] = report(service, agent).commands
    assert handed.params["timeout"] == 5
    result = CommandResult(command, "failed", exit_code=3, reason="no", data={"x": 1})
    report(service, agent, results=(result,))
    answer = service.transact(engine.answer_of, agent, command)
    told = {"status": "failed", "exit_code": 3, "output": "", "truncated": False, "reason": "no", "data": {"x": 1}}
    assert answer == told
    assert service.transact(engine.answer_of, agent, "gone")["status"] == "lost"
    assert service.transact(engine.answer_of, "gone", command)["status"] == "lost"
    with pytest.raises(NotFound):
        send(service, "gone")
    with pytest.raises(Invalid):
        service.transact(lambda root: engine.send_command(root, agent, "shell", {}, requested_by="test"))


def test_hosts_know_their_tools_once_probed(service, node, agent):
    assert service.transact(engine.hosts) == []
    manifest = {"probed_at": 1, "capabilities": {"sh": {"available": True, "usable": True, "version": None}}}
    report(service, agent)
    assert service.transact(engine.hosts)[0].usable is None
    report(service, agent, capabilities=manifest)
    [host] = service.transact(engine.hosts)
    assert (host.agent_id, host.hostname, host.usable, host.online) == (agent, "box-1", frozenset({"sh"}), True)


def test_outcomes_wait_once_however_often_they_are_sent(service, node, agent):
    outcome = LocalOutcome("o1", "r", "verified", 1)
    for _ in range(2):
        report(service, agent, outcomes=(outcome,))
    assert service.transact(engine.take_outcomes) == [AgentOutcome(**vars(outcome), agent_id=agent)]
    assert service.transact(engine.take_outcomes) == []


def test_a_cancel_of_what_was_offered_but_never_taken_is_settled_by_the_agents_word(service, node, agent):
    command = send(service, agent)
    report(service, agent)
    assert service.transact(engine.cancel_command, agent, command) == "queued"
    report(service, agent)
    assert status(service, agent, command) == "cancelled"


def test_one_that_fell_silent_is_heard_again_though_the_clock_was_set_back_since(service, node, agent):
    """Its session ended because it was silent: it is offline at once, and online with its next report."""
    report(service, agent)

    def fall_silent(root):
        find_agent(root, agent).state.session = "s"
        session_store.lose_session(root, agent, "s")

    service.transact(fall_silent)
    assert service.transact(engine.host_of, agent).online is False
    service.clock.advance(-3600)
    report(service, agent)
    assert service.transact(lambda root: find_agent(root, agent).state.silent_at) is None
    assert service.transact(engine.host_of, agent).online is True


def goodbye(service, agent):
    def say(root):
        find_agent(root, agent).state.session = "s"
        session_store.stop_session(root, agent, "s")

    service.transact(say)


def shown(service, agent):
    row = service.vera.get(f"/api/agents/{agent}").json
    return row["status"], row["unheard"], row["stopped_at"] is not None


def messages(service):
    return [(message.title, message.text) for message in service.transact(inbox.take, 1000)]


def test_a_goodbye_is_shown_at_once_and_told_when_it_had_the_time_to_come_back(service, node, agent):
    report(service, agent)
    goodbye(service, agent)
    assert shown(service, agent) == ("offline", True, True)
    for _ in range(3):
        sweep.step(node)
        service.clock.advance(10)
    assert messages(service) == []
    assert statuses(service)[-1] == ("online", "online"), "pages hear of it"
    service.clock.advance(1)
    sweep.step(node)
    assert shown(service, agent) == ("offline", False, True)
    assert messages(service) == [("box-1 is offline", "Its agent was stopped, and has not come back.")]
    service.clock.advance(600)
    sweep.step(node)
    assert shown(service, agent) == ("dead", False, True)
    report(service, agent)
    assert shown(service, agent) == ("online", False, False)
    assert [title for title, _ in messages(service)] == ["box-1 is online again"]


def test_a_restart_is_no_outage_and_no_message(service, node, agent):
    report(service, agent)
    for _ in range(3):
        goodbye(service, agent)
        service.clock.advance(20)
        sweep.step(node)
        report(service, agent)
        assert shown(service, agent) == ("online", False, False)
        service.clock.advance(20)
        sweep.step(node)
        report(service, agent)
    assert messages(service) == []


def test_while_it_may_come_back_it_is_not_away(service, node, agent):
    """Nothing that needs it fails with it, and nothing is sent to it."""
    report(service, agent)
    goodbye(service, agent)
    [host] = service.transact(engine.hosts)
    assert (host.online, host.unheard) == (False, True)
    service.clock.advance(31)
    [host] = service.transact(engine.hosts)
    assert (host.online, host.unheard) == (False, False)


def test_a_goodbye_of_an_earlier_session_counts_for_nothing(service, node, agent):
    report(service, agent)

    def say(root):
        find_agent(root, agent).state.session = "newer"
        session_store.stop_session(root, agent, "older")

    service.transact(say)
    assert shown(service, agent) == ("online", False, False)


def test_one_that_only_polls_says_goodbye_with_its_last_report_and_is_given_nothing_more(service, node, agent):
    report(service, agent)
    command = send(service, agent)
    answer = report(service, agent, stopped=True)
    assert answer.commands == ()
    assert shown(service, agent) == ("offline", True, True)
    assert status(service, agent, command) == "queued"
    assert [each.command_id for each in report(service, agent).commands] == [command]
    assert shown(service, agent) == ("online", False, False)


def test_a_goodbye_lasts_though_the_clock_is_set_back(service, node, agent):
    report(service, agent)
    goodbye(service, agent)
    service.clock.advance(-3600)
    assert shown(service, agent)[2]
    report(service, agent)
    assert shown(service, agent) == ("online", False, False)


def test_what_healing_asks_a_busy_host_takes_no_room_of_what_people_asked_for(service, agent):
    """Looks for a cause and measurements change nothing there, and are many where much fails."""
    wanted = send(service, agent)
    asked = {"heal_id": "h", "token": 1, "timeout": 60}

    def ask(root, phase):
        commands = find_agent(root, agent).commands
        now = service.clock.now()
        command = commands.add("heal", {**asked, "phase": phase, "params": {}}, "healing", now, now + 60)
        commands.end(command, "done", "", now)

    def is_over(root):
        commands = find_agent(root, agent).commands
        commands.end(commands[wanted], "done", "", service.clock.now())

    service.transact(is_over)
    for phase in ("look", "measure") * 250:
        service.clock.advance(1)
        service.transact(lambda root, phase=phase: ask(root, phase))
    assert status(service, agent, wanted) == "done"
    shown = service.transact(lambda root: [command.__name__ for command in find_agent(root, agent).commands.latest()])
    assert shown == [wanted]
    assert service.transact(lambda root: len(find_agent(root, agent).commands._children)) <= 220


def test_of_many_commands_the_oldest_that_are_over_go(service, agent):
    def fill(root):
        commands, now = find_agent(root, agent).commands, service.clock.now()
        for at in range(300):
            command = commands.add("shell", {"command": "true"}, "ada", now + at, now + at + 60)
            if at:
                commands.end(command, "done", "", now + at)
        return [command.__name__ for command in commands.unfinished()], len(commands._children)

    waiting, left = service.transact(fill)
    assert len(waiting) == 1
    assert status(service, agent, waiting[0]) == "queued"
    assert 200 <= left <= 220
