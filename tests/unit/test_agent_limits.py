"""Containers: limits from the cgroup and back, and the states that they are brought back to."""

import json
import os

import pytest

from opsapp.agent import proc, recreate, snapshots
from opsapp.wire.actionparams import HealParams
from opsapp.wire.fields import WireError
from tests.support.fake_tools import Bench

V2 = {
    "/proc/7/cgroup": "0::/pod\n",
    "/sys/fs/cgroup/pod/memory.max": "268435456\n",
    "/sys/fs/cgroup/pod/cpu.max": "150000 100000\n",
}
V1 = {
    "/proc/7/cgroup": "4:memory:/pod\n3:cpu,cpuacct:/pod\n2:freezer:/\n",
    "/sys/fs/cgroup/memory/pod/memory.limit_in_bytes": "268435456\n",
    "/sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_quota_us": "150000\n",
    "/sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_period_us": "100000\n",
}
NONE_V2 = {**V2, "/sys/fs/cgroup/pod/memory.max": "max\n", "/sys/fs/cgroup/pod/cpu.max": "max 100000\n"}
NONE_V1 = {
    **V1,
    "/sys/fs/cgroup/memory/pod/memory.limit_in_bytes": f"{2**63 - 4096}\n",
    "/sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_quota_us": "-1\n",
}


@pytest.mark.parametrize(
    ("files", "memory", "cpus"),
    [(V2, 268435456, 1.5), (V1, 268435456, 1.5), (NONE_V2, None, None), (NONE_V1, None, None), ({}, None, None)],
    ids=["v2", "v1", "none v2", "none v1", "gone"],
)
def test_limits_are_what_the_kernel_has(files, memory, cpus, monkeypatch):
    monkeypatch.setattr(recreate, "maybe", files.get)
    monkeypatch.setattr(proc, "maybe", files.get)
    assert recreate.limits(7) == {"memory": memory, "cpus": cpus}


def runtime(tmp_path, monkeypatch, name, status="running", files=V2, **inspected):
    found = json.dumps([{"Id": "c1", "State": {"Status": status, "Pid": 7}, **inspected}])
    (tmp_path / "found").write_text(found)
    monkeypatch.setattr(recreate, "maybe", files.get)
    monkeypatch.setattr(proc, "maybe", files.get)
    tools = {"podman": "exit 1", "docker": "exit 1"}
    tools[name] = f'case "$2" in inspect) cat {tmp_path}/found;; esac'
    bench = Bench(tmp_path, monkeypatch, tools)
    bench.host.capabilities.tools = {name}
    return bench


def acts(bench):
    return [argv for argv in bench.calls() if argv[1] != "inspect"]


@pytest.mark.parametrize(("name", "swap"), [("docker", "512m"), ("podman", "-1")])
def test_new_limits_and_the_old_ones_back(name, swap, tmp_path, monkeypatch):
    bench = runtime(tmp_path, monkeypatch, name)
    done = bench.execute("scale_container", container="web", mem_limit="512m", cpu_limit=2)
    assert done.ran.status == "done", done
    [called] = acts(bench)
    assert called[:2] == [name, "update"]
    assert {"--memory=512m", f"--memory-swap={swap}", "web"} <= set(called)
    assert done.data["snapshot"]["state"]["limits"] == {"memory": 268435456, "cpus": 1.5}
    given = done.data["snapshot"]
    given["state"]["limits"] = {"memory": None, "cpus": None}  # there were none
    bench.phase("rollback", "scale_container", given=given)
    assert {f"--memory={2**62}", f"--cpus={os.cpu_count()}"} <= set(acts(bench)[-1])


def test_no_new_limit_is_no_order(tmp_path, monkeypatch):
    bench = runtime(tmp_path, monkeypatch, "podman")
    with pytest.raises(WireError, match="cpu_limit or mem_limit is required"):
        bench.execute("scale_container", container="web")
    assert acts(bench) == []


def test_a_limit_that_is_back_is_so_when_the_host_is_the_limit():
    alike = snapshots.KINDS["limits"].same
    before = {"id": "c1", "limits": {"memory": None, "cpus": None}}
    assert alike(before, {"id": "c1", "limits": {"memory": None, "cpus": os.cpu_count()}})
    assert not alike(before, {"id": "c1", "limits": {"memory": 5, "cpus": None}})
    assert not alike(before, {"id": "c2", "limits": {"memory": None, "cpus": None}})


@pytest.mark.parametrize(
    ("before", "now", "act"),
    [
        ("running", "paused", ["podman", "unpause", "web"]),
        ("paused", "running", ["podman", "pause", "web"]),
        ("exited", "running", ["podman", "stop", "web"]),
    ],
)
def test_a_container_goes_back_to_what_it_was(before, now, act, tmp_path, monkeypatch):
    bench = runtime(tmp_path, monkeypatch, "podman", status=now)
    state = {"runtime": "podman", "container": "web", "id": "c1", "status": before, "pid": 7}
    given = {"kind": "container", "params": {"container": "web"}, "state": state}
    back = bench.phase("rollback", "container_pause", given=given)
    assert acts(bench) == [act]
    assert (back.ran.status, back.ran.reason, back.data["restored"]) == ("failed", "the state was not restored", False)


def test_a_container_that_is_there_already_is_left_alone(tmp_path, monkeypatch):
    bench = runtime(tmp_path, monkeypatch, "podman")
    taken = bench.phase("snapshot", "container_pause", container="web").data["snapshot"]
    assert bench.acted == 0  # what was seen before is as good as it was
    back = bench.phase("rollback", "container_pause", given=taken)
    assert (back.ran.status, back.data["restored"], acts(bench), bench.acted) == ("done", True, [], 1)


@pytest.mark.parametrize(
    ("config", "script", "reason"),
    [
        ({}, "", "podman does not tell how web was made"),
        ({"CreateCommand": ["podman", "run", "nginx"]}, "exit 1", "it could not be made anew; the old one is back"),
    ],
)
def test_a_container_of_podman_that_cannot_be_made_anew(config, script, reason, tmp_path, monkeypatch):
    bench = runtime(tmp_path, monkeypatch, "podman", Config=config)
    program = tmp_path / "bin/podman"
    program.write_text(program.read_text() + (f'case "$2" in run) {script};; esac\n' if script else ""))
    failed = bench.execute("container_recreate", container="web")
    assert (failed.ran.status, failed.ran.reason) == ("failed", reason)
    if config:
        assert acts(bench) == [
            ["podman", "stop", "-t", "10", "--", "web"],
            ["podman", "rename", "web", "web-before"],
            ["podman", "run", "--detach", "nginx"],
            ["podman", "rm", "--force", "--", "web"],
            ["podman", "rename", "web-before", "web"],
            ["podman", "start", "--", "web"],
        ]
    else:
        assert acts(bench) == []


def test_an_image_of_a_container_that_is_gone_is_not_pulled(tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch, {"podman": "exit 1", "docker": "exit 1"})
    for number, action in enumerate(("container_image_pull", "container_recreate")):
        gone = bench.phase("execute", action, heal_id=f"h{number}", container="web")
        assert gone.ran.status == "failed"
        assert "no container web was found" in gone.ran.reason


@pytest.mark.parametrize("named", [{"ImageName": "web:1"}, {"Config": {"Image": "web:1"}}])
def test_a_containers_state_names_its_image_whichever_engine_says_it(monkeypatch, named):
    found = {"runtime": "docker", "Id": "4f", "State": {"Status": "Running", "Pid": 7}, **named}
    monkeypatch.setattr(snapshots, "inspect", lambda name: found)
    state = snapshots.take_container(HealParams(container="web"), None)
    assert (state["image"], state["status"], state["pid"]) == ("web:1", "running", 7)
