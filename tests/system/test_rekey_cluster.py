"""`opsapp rekey` beside two running nodes on one ZEO server: no sign-in fails, no secret is lost, nobody restarts."""

import subprocess
import sys
import threading

import pyotp
import pytest

from tests.support.client import Client
from tests.support.othernode import knows
from tests.support.process import ROOT, Serve, Zeo
from tests.support.waiting import patience, until

pytestmark = [pytest.mark.system, pytest.mark.own_store, pytest.mark.nightly("starts many processes for one command")]
LOGIN = {"username": "grace", "password": "a sound password"}


@pytest.fixture
def zeo(tmp_path):
    with Zeo(tmp_path / "zeo") as zeo:
        yield zeo


@pytest.fixture
def pair(tmp_path, zeo):
    generous = {"web": {"login": {"attempts_per_ip": 10_000, "attempts_per_user": 10_000}}}
    data = tmp_path / "data"
    nodes = [Serve(tmp_path / name, generous, node=name, data=data, **zeo.uris()) for name in ("one", "two")]
    for node in nodes:
        node.start()
    yield nodes
    for node in nodes:
        node.end()


def first_step(node):
    return node.client().post("/api/login", LOGIN)["partial_token"]


def has_user(node, token, username):
    """Whether a node has taken in, as it does a moment later, what the other has written."""
    client = node.client(token=token)
    knows(client, "/api/me")
    users = client.get("/api/users?limit=1000")
    return username in {user["username"] for user in users}


def is_confirmed(client, secret):
    """Not yet where the node has not heard of the set-up, or its commit waited too long; anything else is refused."""
    answer = client.request("POST", "/api/me/totp/confirm", {"code": pyotp.TOTP(secret).now()})
    if answer.status == 200:
        return True
    assert answer.json["code"] in ("no_pending_totp", "store_unavailable"), answer
    return False


def rekey(zeo, data):
    uris = zeo.uris()
    command = [sys.executable, "-m", "opsapp.cli", "rekey", "--store", uris["store"]]
    command += ["--history-store", uris["history_store"], "--data", str(data)]
    return subprocess.run(command, capture_output=True, text=True, timeout=90 * patience(), cwd=ROOT)


def enrolled(client):
    """The recovery codes; the secret has been sealed by the node that `client` asks."""
    secret = client.post("/api/me/totp")["secret"]
    return client.post("/api/me/totp/confirm", {"code": pyotp.TOTP(secret).now()})["recovery_codes"]


def test_nodes_that_run_take_the_new_key(pair, zeo, tmp_path):
    one, two = pair
    one.admin.post("/api/users", LOGIN | {"role": "operator"})
    codes = enrolled(Client(one.url).login(**LOGIN))
    monitor = {"name": "shop", "type": "http", "url": "http://u:p@127.0.0.1:1/?k=v", "headers": {"X-Token": "t"}}
    monitor_id = one.admin.post("/api/monitoring/endpoints", monitor)["id"]
    key_file = tmp_path / "data" / "secret.key"
    before = key_file.read_text()
    done, sealed, troubles = [], [], []

    def seal_and_open():
        """Somebody begins a set-up at one node and confirms it at the other, all the while."""
        number = 0
        while not done and number < 200:
            number += 1
            login = {"username": f"user-{number}", "password": "a sound password"}
            first, second = (one, two) if number % 2 else (two, one)
            try:
                one.admin.post("/api/users", login | {"role": "viewer"})
                until(lambda at=first, name=login["username"]: has_user(at, one.admin.token, name), what="the new user")
                client = Client(first.url).login(*login.values())
                secret = client.post("/api/me/totp")["secret"]
                other = Client(second.url, token=client.token)
                knows(other, "/api/me")
                until(lambda at=other, secret=secret: is_confirmed(at, secret), what="the set-up at the other node")
                sealed.append((login, secret))
            except AssertionError as problem:
                troubles.append(problem)

    thread = threading.Thread(target=seal_and_open)
    thread.start()
    until(lambda: sealed or troubles, 60, what="a second factor before the new key")
    outcome = rekey(zeo, tmp_path / "data")
    done.append(True)
    thread.join(60 * patience())
    assert outcome.returncode == 0, outcome.stderr
    assert not troubles
    after = key_file.read_text()
    assert len(after.splitlines()) == 1
    assert after != before

    for node in pair:
        there = node.client(token=one.admin.token).get(f"/api/monitoring/endpoints/{monitor_id}")
        assert (there["url"], there["headers"]) == (monitor["url"], monitor["headers"])
    for node, code in ((two, codes[0]), (one, codes[1])):
        step = {"partial_token": first_step(node), "code": code}
        assert node.client().post("/api/login/totp", step)["username"] == "grace"
    for login, _secret in sealed:  # a wrong code is a 401 only where the secret could be opened
        for node in pair:
            partial = node.client().post("/api/login", login)["partial_token"]
            step = {"partial_token": partial, "code": "000000"}
            assert node.client().request("POST", "/api/login/totp", step).status in (401, 200)


def test_a_node_without_the_new_key_says_so_and_takes_it_once_it_is_there(pair, zeo, tmp_path):
    """A host of its own, with a key file of its own: until it is brought there, nothing is sealed or opened wrongly."""
    one, two = pair
    one.admin.post("/api/users", LOGIN | {"role": "operator"})
    codes = enrolled(Client(one.url).login(**LOGIN))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "secret.key").write_text((tmp_path / "data" / "secret.key").read_text())
    (elsewhere / "secret.key").chmod(0o600)
    assert rekey(zeo, elsewhere).returncode == 0
    step = {"partial_token": first_step(two), "code": codes[0]}
    refused = two.client().request("POST", "/api/login/totp", step)
    assert (refused.status, refused.json["code"]) == (503, "no_master_key")
    user = LOGIN | {"username": "bob"}
    one.admin.post("/api/users", user | {"role": "viewer"})
    until(lambda: has_user(two, one.admin.token, "bob"), 10, what="bob at the other node")
    bob = Client(two.url).login(**user)
    assert bob.request("POST", "/api/me/totp").json["code"] == "no_master_key"
    (elsewhere / "secret.key").replace(tmp_path / "data" / "secret.key")
    until(lambda: two.client().request("POST", "/api/login/totp", step).status == 200, 30, what="the key")
    assert bob.post("/api/me/totp")["secret"]
