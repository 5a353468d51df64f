"""Each kind of heal action on a real host, from the alert to the ledger: the host is mended, what proves it is a
reading and not the word of a command, and a person reads sentences."""

import contextlib
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from opsapp.wire.actions import ACTIONS
from tests.fleet import kinds
from tests.fleet.care import Ward, make_container
from tests.fleet.conftest import QUICK
from tests.fleet.healed import promote
from tests.fleet.lab.machine import run as outside
from tests.support.monitors import MONITORS, checked
from tests.support.receiver import Receiver
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(300)
NIGHTLY = pytest.mark.nightly("minutes for all kinds; test_default_chains.py has some in the core list")
HEALING = {**QUICK["healing"], "default_rules": False}
RULE = {"severity": "critical", "settle_s": 1, "verify_timeout_s": 20, "cooldown_s": 1, "initial_level": "notify"}


@contextlib.contextmanager
def pool(host):
    """A btrfs of the host at /mnt/pool."""
    image = host.dir / "btrfs.img"
    outside("truncate", "-s", "120M", image)
    device = outside("losetup", "--find", "--show", image).stdout.strip()
    node = f"mknod -m 600 {device} b 7 {device.removeprefix('/dev/loop')} 2>/dev/null"
    try:
        host.exec("sh", "-c", f"{node}; mkfs.btrfs -q {device}; mkdir -p /mnt/pool; mount {device} /mnt/pool")
        yield
        host.exec("umount", "/mnt/pool")
    finally:
        outside("losetup", "--detach", device)


@pytest.fixture(scope="module")
def shop(lab, tmp_path_factory):
    """One host for all kinds, who is told, and whom a webhook asks: it starts the unit of that kind."""
    config = {**QUICK, "healing": HEALING, "notifications": {"group_wait_s": 1, "group_s": 1}}
    with contextlib.ExitStack() as stack:
        receiver, hook = stack.enter_context(Receiver()), stack.enter_context(Receiver())
        serve = stack.enter_context(lab.serve(tmp_path_factory.mktemp("kinds"), config))
        serve.admin.post("/api/notifications/channels", {"name": "on-call", "url": receiver.url()})
        host = lab.host()
        stack.callback(lab.remove, host)
        stack.enter_context(pool(host))
        make_container(host, "box")
        ward = Ward(host, serve, **kinds.CONFIG)
        hook.answer = lambda _message: host.exec("systemctl", "start", "by-webhook").stdout.encode()
        yield SimpleNamespace(ward=ward, host=host, serve=serve, api=serve.admin, receiver=receiver, hook=hook)


def sh(shop, text):
    return shop.host.exec("sh", "-c", text, timeout=90, check=False).stdout


def is_well(shop, kind):
    """By the test's own look, not by what opsapp has been told."""
    if kind.well:
        return shop.host.exec("sh", "-c", kind.well, check=False).returncode == 0
    try:
        socket.create_connection((shop.host.address, 80), 2).close()
    except OSError:
        return False
    return True


def watched(shop, kind, name):
    """A monitor on what the kind is about: a plugin of the host, or a look from outside."""
    looks = {"type": "tcp", "url": f"tcp://{shop.host.address}:80"}
    if kind.well:
        says = f"if {{ {kind.well}; }} > /dev/null 2>&1; then echo 'OK - well'; exit 0; fi"
        program = f"#!/bin/sh\n{says}\necho 'CRITICAL - {kind.finds}'; exit 2\n"
        shop.host.write(f"/opt/plugins/{name}", program, 0o755)
        looks = {"type": "plugin", "command": [f"/opt/plugins/{name}"]}
    body = {"name": name, "agent_id": shop.ward.agent_id, "interval": 5, "timeout": 4, "retries": 0, **looks}
    path = f"{MONITORS}/{shop.api.post(MONITORS, body)['id']}"
    checked(shop.serve, path, "up")
    return path


def params_of(shop, kind):
    known = {"{hook}": lambda: f"http://{shop.hook.host}:{shop.hook.port}/"}
    known["{pid}"] = lambda: int(sh(shop, f"systemctl show -P MainPID {kind.of}"))
    known["{automation}"] = lambda: shop.api.post(
        "/api/automations",
        {"name": kind.action, "type": "agent_command",
         "params": {"command": f"systemctl start by-{kind.action.replace('_', '-')}", "agent_id": shop.ward.agent_id}},
    )["id"]  # fmt: skip
    return {
        name: known[value]() if isinstance(value, str) and value in known else value
        for name, value in kind.params.items()
    }


def ruled(shop, kind, name, params):
    """A rule about this monitor alone, at its highest level."""
    rule = {**RULE, "id": name, "description": kind.finds, "condition": 'monitor.status == "down"',
            "targets": {"monitors": [name]}, "action": {"type": kind.action, "params": params}}  # fmt: skip
    shop.api.post("/api/healing/rules", rule)
    promote(shop.api, name)


def about(shop, name):
    return [one for one in list(shop.receiver.messages) if name in f"{one['title']} {one['message']}"]


def approve(shop, kind):
    (asked,) = until(lambda: shop.api.get("/api/approvals"), 60, what=f"a request for {kind.action}")
    assert (asked["risk"], asked["status"]) == ("high", "pending")
    shop.api.post(f"/api/approvals/{asked['request_id']}/approve", {})


def ended(shop, name):
    def final():
        return [one for one in shop.api.get(f"/api/healing/ledger?rule_id={name}") if one["state"] == "final"]

    try:
        (entry,) = until(final, 120, what=f"the end of the heal of {name}")
    except AssertionError as missed:
        story = shop.api.get(f"/api/healing/ledger?rule_id={name}")
        raise AssertionError(f"{missed}: {story}\n{shop.ward.log()}") from None
    return entry


@NIGHTLY
@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.action) for kind in kinds.KINDS])
def test_a_heal_of_each_kind(shop, kind):
    name = f"shop-{kind.action.replace('_', '-')}"
    risk = ACTIONS[kind.action].risk
    shop.host.exec("sh", "-ec", kind.prepare or "true", timeout=90)
    monitor = watched(shop, kind, name)
    ruled(shop, kind, name, params_of(shop, kind))
    shop.host.exec("sh", "-ec", kind.fault, timeout=60)
    same = sh(shop, kind.same or "true")
    assert not is_well(shop, kind)
    if risk == "high":
        approve(shop, kind)

    entry = ended(shop, name)
    assert is_well(shop, kind), entry
    assert (entry["outcome"], entry["verified"], entry["action_success"]) == ("verified", 1, 1), entry
    assert (entry["action_type"], entry["target"]) == (kind.action, name)
    confirmed = ", and confirmed" if ACTIONS[kind.action].armed_s else ""
    assert entry["reason"] == f"the condition is known false{confirmed}"
    assert sh(shop, kind.same or "true") == same
    assert checked(shop.serve, monitor, "up")["status"] == "up"
    assert shop.api.get("/api/healing/ledger/verify")["valid"] is True
    until(lambda: shop.api.get("/api/monitoring/incidents?status=open") == [], 30, what="the end of the incident")
    read = about(shop, name)
    assert any(kind.finds in one["message"] for one in read), read
    assert all(kind.action not in f"{one['title']} {one['message']}" for one in read if "_" in kind.action), read
    shop.api.delete(f"/api/healing/rules/{name}")
    shop.api.delete(monitor)


@NIGHTLY
def test_the_word_of_a_command_is_no_proof(shop):
    """It says that all is well; the host says that nothing is."""
    kind = kinds.stopped("agent_command", {"command": "echo it runs again"})
    shop.host.exec("sh", "-ec", kind.prepare)
    monitor = watched(shop, kind, "shop-liar")
    ruled(shop, kind, "shop-liar", kind.params)
    shop.host.exec("sh", "-ec", kind.fault)
    entry = ended(shop, "shop-liar")
    assert (entry["action_success"], entry["verified"], entry["outcome"]) == (1, 0, "failed"), entry
    told = until(lambda: [one for one in about(shop, "shop-liar") if "Tried:" in one["message"]], 60, what="a message")
    assert "Tried: agent command on" in told[0]["message"]
    shop.api.delete("/api/healing/rules/shop-liar")
    shop.api.delete(monitor)


def test_each_kind_is_healed_somewhere_or_cannot_be():
    assert kinds.unnamed() == set()
    for module, actions in kinds.ELSEWHERE.items():
        text = (Path(__file__).parent / module).read_text()
        assert [action for action in actions if f'"{action}"' not in text] == []
