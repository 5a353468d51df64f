"""Unit states: what ought to run and does not is failed, however it was stopped; what may sleep is not."""

import pytest

from opsapp.agent import services as services_module
from opsapp.agent.containers import parse as parse_containers
from opsapp.agent.services import Services, parse_openrc, parse_show
from opsapp.wire.readings import of_service


def unit(name, active, file_state="enabled", kind="simple", **more):
    return {
        "Id": f"{name}.service",
        "LoadState": "loaded",
        "ActiveState": active,
        "UnitFileState": file_state,
        "Type": kind,
        "ConditionResult": "yes",
        "BusName": "",
        "TriggeredBy": "",
        "Job": "",
        **more,
    }


@pytest.fixture
def services(tmp_path, monkeypatch):
    monkeypatch.setattr(services_module, "init_system", lambda: "systemd")
    return Services(str(tmp_path), "boot-1")


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (unit("nginx", "active"), "active"),
        (unit("nginx", "inactive"), "failed"),
        (unit("nginx", "failed"), "failed"),
        (unit("nginx", "activating"), "activating"),
        (unit("nginx", "inactive", Job="1234"), "activating"),
        (unit("nginx", "inactive", "disabled"), None),
        (unit("nginx", "failed", "disabled"), "failed"),
        (unit("apt-daily", "inactive", "static", "oneshot"), None),
        (unit("fstrim", "failed", "static", "oneshot"), "failed"),
        (unit("e2scrub_reap", "inactive", "enabled", "oneshot"), None),
        (unit("podman", "inactive", "enabled", TriggeredBy="podman.socket"), "inactive"),
        (unit("skipped", "inactive", ConditionResult="no"), None),
        (unit("gone", "inactive", LoadState="not-found"), None),
    ],
)
def test_the_state_of_a_unit_seen_for_the_first_time(services, found, state):
    assert services.judge([found]).get(found["Id"][:-8]) == state


@pytest.mark.parametrize(
    ("before", "after", "state"),
    [
        (unit("demo", "active", "disabled"), unit("demo", "inactive", "disabled"), "failed"),
        (unit("demo", "active", "static"), unit("demo", "inactive", "static"), "failed"),
        (unit("user@0", "active", "static"), unit("user@0", "inactive", "static"), None),
        (unit("bus", "active", "static", BusName="org.x"), unit("bus", "inactive", "static", BusName="org.x"), None),
        (unit("run-7", "active", "transient"), unit("run-7", "inactive", "transient"), None),
        (unit("once", "active", "enabled", "oneshot"), unit("once", "inactive", "enabled", "oneshot"), None),
        (unit("demo", "active"), unit("demo", "inactive", "masked", LoadState="masked"), "masked"),
        (unit("demo", "failed"), unit("demo", "failed", "masked-runtime", LoadState="masked"), "masked"),
        (unit("demo", "active"), unit("demo", "active", "masked", LoadState="masked"), "active"),
        (
            unit("docker", "active", TriggeredBy="docker.socket"),
            unit("docker", "inactive", TriggeredBy="docker.socket"),
            "failed",
        ),
    ],
)
def test_what_was_active_and_ought_to_stay(services, before, after, state):
    services.judge([before])
    assert services.judge([after]).get(after["Id"][:-8]) == state


def test_what_was_active_is_remembered_over_a_restart_but_not_over_a_boot(services, tmp_path, monkeypatch):
    monkeypatch.setattr(services_module, "init_system", lambda: "systemd")
    services.judge([unit("demo", "active", "disabled")])
    gone = unit("demo", "inactive", "disabled")
    assert Services(str(tmp_path), "boot-1").judge([gone]) == {"demo": "failed"}
    assert Services(str(tmp_path), "boot-2").judge([gone]) == {}


def test_a_masked_unit_that_ran_is_told_even_where_systemd_has_forgotten_it(services, monkeypatch):
    """systemd lists a masked unit that does not run only where something refers to it."""
    masked = unit("demo", "inactive", "masked", LoadState="masked")
    said = {"--all": [], "--": [masked]}
    monkeypatch.setattr(services_module, "_show", lambda which: list(said[which[0]]))
    services.judge([unit("demo", "active")])
    assert [services.states() for _ in range(2)] == [{"demo": "masked"}] * 2
    assert services.look().forbidden == {"demo"}
    said["--"] = [unit("demo", "inactive", "disabled")]  # unmasked, and nobody wants it to run
    assert (services.look().states, services.look().forbidden) == ({}, set())


def test_a_unit_that_was_always_masked_is_forbidden_on_purpose(services, monkeypatch):
    never = unit("podman", "inactive", "masked", LoadState="masked")
    monkeypatch.setattr(services_module, "_show", lambda which: [never])
    seen = services.look()
    assert (seen.states, seen.forbidden) == ({"podman": "masked"}, set())


def test_a_masked_unit_has_not_failed_and_loops_no_more():
    lately = of_service("masked", ran=True, starts=9, counted_s=300.0)
    assert (lately["failed"], lately["crash_looping"]) == (0, 0)
    assert "masked" not in lately  # whether it ran before, its host says
    assert of_service("active", ran=True, starts=9, counted_s=300.0)["masked"] == 0


def test_systemctl_show_is_read():
    said = "Id=a.service\nActiveState=active\nType=simple\n\nId=b.service\nActiveState=inactive\nJob=\n\nnoise\n"
    assert [one["Id"] for one in parse_show(said)] == ["a.service", "b.service"]


def test_openrc_is_read():
    said = """Runlevel: default
 nginx                                                             [  started  ]
 sshd                                                              [  crashed  ]
 cron                                                              [  stopped  ]
Dynamic Runlevel: manual
 rsyncd                                                            [  stopped  ]
 dbus                                                              [  started 00:10:20 (0) ]
"""
    assert parse_openrc(said) == {"nginx": "active", "sshd": "failed", "cron": "failed", "dbus": "active"}


@pytest.mark.parametrize(
    ("said", "states"),
    [
        ('[{"Names":["web"],"State":"running"},{"Names":["db"],"State":"Exited"}]', {"web": "running", "db": "exited"}),
        (
            '{"Names":"web","State":"running"}\n{"Names":"db,alias","State":"exited"}\n',
            {"web": "running", "db": "exited"},
        ),
        ("", {}),
        ("[]", {}),
    ],
)
def test_containers_are_read(said, states):
    assert {each.name: each.state for each in parse_containers(said)} == states


def test_what_is_no_list_of_containers_is_no_answer():
    with pytest.raises(OSError, match="Cannot connect"):
        parse_containers("Cannot connect to the Docker daemon")
