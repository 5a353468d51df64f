"""kill -9 of the server or of the agent at any point of a heal: one restart of nginx at most, and a story that ends."""

import random
import threading

import pytest

from tests.fleet.healed import RULE, Patient, newest, promote
from tests.support.waiting import SOON_S, until

POINTS = 15
STAGES = ("dead", "incident", "executing", "settling", "verifying", "final")


def killings(seed, count):
    """(who, at which stage of the heal, seconds into it): every stage with either victim, the moments by chance."""
    chance = random.Random(seed)
    return [(("server", "agent")[n % 2], STAGES[n % len(STAGES[:-1])], chance.uniform(0, 1)) for n in range(count)]


def reached(patient, stage, before, incidents):
    """Whether the heal of this death is at a stage or beyond it."""
    if stage == "dead":
        return True
    if stage == "incident":
        return len(patient.incidents()) > incidents
    states = [entry["state"] for entry in patient.ledger(RULE["id"]) if entry["id"] > before]
    return any(state in STAGES[STAGES.index(stage) :] for state in states)


@pytest.fixture
def patient(host, server):
    serve = server()
    serve.admin.post("/api/healing/rules", RULE)
    promote(serve.admin, RULE["id"])
    return Patient(host, serve).until_online().watch()


def kill_within_a_heal(patient, who, stage, after):
    starts, before, incidents = patient.starts(), newest(patient.ledger(RULE["id"])), len(patient.incidents())
    patient.stop_nginx()
    until(lambda: reached(patient, stage, before, incidents), 60, SOON_S, what=f"the stage {stage}")
    threading.Event().wait(after)  # the seeded point of the kill
    if who == "server":
        patient.serve.kill()
        patient.serve.start()
    else:
        patient.host.exec("systemctl", "kill", "-s", "KILL", "opsapp-agent")
    until(lambda: patient.nginx() == "active", 90, what=f"nginx after the {who}'s death ({stage})")
    until(lambda: patient.monitor()["status"] == "up", 30, what="the monitor being up")
    until(lambda: patient.incidents("open") == [], 30, what="the incident's end")
    until(lambda: all(e["state"] == "final" for e in patient.ledger(RULE["id"])), 60, what="every entry final")
    assert patient.starts() == starts + 1, f"the {who} died {after:.2f} s into {stage}"


def settle(patient):
    until(lambda: patient.api.get("/api/healing/health")["active_heals"] == 0, 30, what="no heal under way")
    assert patient.api.get("/api/healing/ledger/verify")["valid"] is True


@pytest.mark.nightly("many points of a kill; the core list has the agent while it acts")
@pytest.mark.timeout(900)
def test_a_heal_survives_the_death_of_server_or_agent(patient):
    for who, stage, after in killings(seed=15, count=POINTS):
        kill_within_a_heal(patient, who, stage, after)
        settle(patient)


@pytest.mark.timeout(900)
def test_a_heal_survives_the_death_of_the_agent_while_it_acts(patient):
    """Nobody can tell then what became of the action; nginx is not restarted again because of what was seen before."""
    for after in (0.0, 0.02, 0.04):
        kill_within_a_heal(patient, "agent", "executing", after)
        settle(patient)


@pytest.mark.soak
def test_200_deaths_within_a_heal(patient):
    for who, stage, after in killings(seed=random.randrange(1 << 32), count=200):
        kill_within_a_heal(patient, who, stage, after)
        settle(patient)
