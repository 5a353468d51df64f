"""A container that ran and is gone is removed, for a while; one that somebody makes anew is not."""

import json

import pytest

from opsapp.agent import containers
from opsapp.agent.config import AgentConfig
from opsapp.agent.containers import Container, Containers
from tests.support.fake_tools import Bench


class Clock:
    now = 10_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def podman(monkeypatch):
    """What podman says, by name; OSError when it says nothing."""
    there = {}

    def listed(runtime):
        if "error" in there:
            raise OSError(there["error"])
        return [Container(name, state, True) for name, state in there.items()]

    monkeypatch.setattr(containers.shutil, "which", lambda name: "/bin/podman" if name == "podman" else None)
    monkeypatch.setattr(containers, "listed", listed)
    return there


@pytest.fixture
def looks(tmp_path, clock):
    """A function: the containers of a new agent on the same state."""
    config = AgentConfig("http://x", "a" * 16, "k", str(tmp_path), container_check_s=20)
    return lambda: Containers(config, clock, clock)


def after(seen, clock, seconds):
    clock.now += seconds
    seen.stale()
    return seen.states()


def test_one_that_is_gone_for_good_is_removed_for_an_hour(podman, looks, clock):
    seen = looks()
    podman["web"] = "running"
    assert seen.states() == {"web": "running"}
    del podman["web"]
    assert after(seen, clock, 1) == {}
    assert after(seen, clock, 29) == {}
    assert after(seen, clock, 1) == {"web": "removed"}
    assert after(seen, clock, 3500) == {"web": "removed"}
    assert after(seen, clock, 100) == {}


def test_it_is_looked_for_again_before_it_is_called_removed(podman, looks, clock):
    seen = looks()
    podman["web"] = "running"
    seen.states()
    del podman["web"]
    after(seen, clock, 1)
    clock.now += 12
    podman["web"] = "running"  # made anew, and nothing was noticed of it
    assert seen.states() == {}
    clock.now += 19
    assert seen.states() == {"web": "running"}


def test_a_new_agent_still_misses_it(podman, looks, clock):
    podman["web"] = "running"
    looks().states()
    del podman["web"]
    clock.now += 60
    seen = looks()
    assert seen.states() == {}
    assert after(seen, clock, 31) == {"web": "removed"}
    assert after(looks(), clock, 60) == {"web": "removed"}


@pytest.mark.parametrize(("state", "lasting"), [("running", False), ("exited", True)], ids=["--rm", "ended-long-ago"])
def test_what_nobody_misses_is_not_removed(podman, looks, clock, monkeypatch, state, lasting):
    here = [Container("job", state, lasting)]
    monkeypatch.setattr(containers, "listed", lambda runtime: here)
    seen = looks()
    seen.states()
    here.clear()
    after(seen, clock, 1)
    assert after(seen, clock, 40) == {}


def test_a_runtime_that_does_not_answer_has_removed_nothing(podman, looks, clock):
    seen = looks()
    podman["web"] = "running"
    seen.states()
    podman["error"] = "Cannot connect to the daemon"
    clock.now += 20
    assert seen.states() == {}
    assert after(seen, clock, 60) == {}
    del podman["error"]
    clock.now += 10  # asked again soon, not at the next regular look
    assert seen.states() == {"web": "running"}


def test_a_clock_that_was_set_back_makes_it_wait_anew(podman, looks, clock):
    seen = looks()
    podman["web"] = "running"
    seen.states()
    del podman["web"]
    after(seen, clock, 1)
    assert after(seen, clock, -3600) == {}
    assert after(seen, clock, 31) == {"web": "removed"}


def test_state_that_cannot_be_read_is_told_and_forgotten(podman, looks, tmp_path, caplog):
    (tmp_path / "containers.json").write_text('{"web": 7}')
    assert looks().states() == {}
    assert "containers.json" in caplog.text


ROWS = [
    {"Names": ["web"], "State": "running", "AutoRemove": False},
    {"Names": ["job"], "State": "running", "AutoRemove": True},
    {
        "Names": ["pod"],
        "State": "running",
        "AutoRemove": False,
        "Labels": {"io.kubernetes.pod.name": "x", "io.kubernetes.pod": "y"},
    },
]


def test_podman_says_which_ones_are_missed(tmp_path, monkeypatch):
    Bench(tmp_path, monkeypatch, {"podman": f"echo '{json.dumps(ROWS)}'"})
    assert [each.lasting for each in containers.listed("podman")] == [True, False, False]


def test_docker_is_asked_for_each_new_one(tmp_path, monkeypatch):
    lines = [json.dumps({"Names": name, "State": "running", "Labels": "a=b"}) for name in ("web", "job")]
    bench = Bench(
        tmp_path,
        monkeypatch,
        {
            "docker": f"""case "$2" in
ps) printf '%s\\n' '{lines[0]}' '{lines[1]}';;
inspect) case "$8" in web) echo false;; *) echo true;; esac;;
esac"""
        },
    )
    monkeypatch.setattr(containers, "RUNTIMES", ("docker",))
    seen = Containers(AgentConfig("http://x", "a" * 16, "k", str(tmp_path)))
    assert seen.states() == {"web": "running", "job": "running"}
    seen.stale()
    seen.states()
    asked = [argv for argv in bench.calls("docker") if argv[1] == "inspect"]
    assert [argv[-1] for argv in asked] == ["web", "job"]
    assert [row.lasting for row in seen._known._rows.values()] == [True, False]


def test_a_runtime_that_fails_is_no_empty_list(tmp_path, monkeypatch):
    Bench(tmp_path, monkeypatch, {"podman": "echo broken; exit 1"})
    with pytest.raises(OSError, match="podman ps: broken"):
        containers.listed("podman")
