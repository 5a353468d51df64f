"""kill -9 of the server at points of a wave, over the wire: no host is healed twice, no wave is without its verdict."""

import random

import pytest

from tests.support.process import Serve
from tests.support.waiting import SOON_S, until
from tests.system.test_healing import CONFIG, HOSTS, all_verified, box_of, promote

pytestmark = pytest.mark.system
SELDOM = {"holdout": {"share": 0.001}}  # so waves are trials, and hardly ever leaves a coin a host alone
COMPARING = {**CONFIG, "healing": {**CONFIG["healing"], **SELDOM}}
MOST_OUTAGES = 10  # while of each outage the hosts are heard one after the other
NIGHTLY = pytest.mark.nightly("100 points in all; the core list has two, while a wave is a trial")


def outages(tmp_path, seed, kills):
    """In each outage all hosts fail at once, and the server dies when some of them have been acted on."""
    dice, waves = random.Random(seed), 0
    with Serve(tmp_path, COMPARING) as server:
        boxes = [box_of(server, hostname=f"box-{n}") for n in range(HOSTS)]
        try:
            until(lambda: {row["status"] for row in server.admin.get("/api/agents")} == {"online"}, what="the agents")
            promote(server, "execute")
            for outage in range(1, kills + 1):
                acted = (outage - 1) * HOSTS + dice.randrange(HOSTS)
                for box in boxes:
                    box.state = "failed"
                until(lambda: sum(box.restarts for box in boxes) >= acted, 40, SOON_S, what="the point")  # noqa: B023
                server.kill()
                server.start()
                until(lambda: all_verified(server, outage * HOSTS), 60, what=f"outage {outage}")  # noqa: B023
                assert [box.restarts for box in boxes] == [outage] * HOSTS
                waves += whole(server) - 1  # the last one has nobody beside it
                until(lambda: compared(server)["open"] == 0, 10, what="the trials of the waves")
                assert compared(server)["n"] <= waves, "one trial of a wave at most"
            undisturbed(server, boxes, kills + 1)
        finally:
            for box in boxes:
                box.stop()


def whole(server):
    """The waves of the outage before: each host went once, and each wave has come to its verdict."""
    newest = server.admin.get("/api/healing/ledger?rule_id=nginx-yaml&limit=1")[0]
    wave = server.admin.get(f"/api/healing/cases/{newest['case_id']}")["wave"]
    assert (wave["targets"], wave["waiting"], wave["stopped"]) == (HOSTS, 0, "")
    assert [counts["hosts"] - counts["well"] for counts in wave["counts"]] == [0] * len(wave["counts"])
    assert sum(counts["hosts"] for counts in wave["counts"]) == HOSTS
    assert len(wave["counts"]) > 1, "they did not go all at once"
    return len(wave["counts"])


def undisturbed(server, boxes, outage):
    """Where nobody dies, nothing from before holds waves up, and what these show counts once. Hosts that were heard one
    after the other cannot be compared (docs/adr/111), so it goes on until some were."""
    before = compared(server)["n"]
    for number in range(outage, outage + MOST_OUTAGES):
        for box in boxes:
            box.state = "failed"
        until(lambda: all_verified(server, number * HOSTS), 60, what="an outage more")  # noqa: B023
        waves = whole(server)
        until(lambda: compared(server)["open"] == 0, 10, what="the trials of its waves")
        shown = compared(server)["n"] - before
        assert shown < waves
        if shown:
            return
    raise AssertionError(f"of {MOST_OUTAGES} outages none had a wave that was a trial")


def compared(server):
    """What is known of the waves that were trials."""
    return server.admin.get("/api/healing/lift?rule_id=nginx-yaml")["waves"]


@pytest.mark.crash
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("seed", "kills"), [(5, 2), *(pytest.param(seed, 10, marks=NIGHTLY) for seed in range(2, 12))])
def test_killed_at_points_of_a_wave(tmp_path, seed, kills):
    outages(tmp_path, seed, kills)
