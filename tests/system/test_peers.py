"""The header by which nodes speak for callers: what one who has the master key can make of it, and what nobody can."""

import base64
import hashlib
import json
import secrets
import time

import pytest

from opsapp.runtime.cluster import peers
from opsapp.runtime.secrets import seals
from tests.support.client import Client
from tests.support.process import Serve, Zeo

pytestmark = [pytest.mark.system, pytest.mark.attack]
WORD = "a long enough word"


class Forger:
    """Has the master key."""

    def __init__(self, serve):
        self.serve = serve
        self.secret = seals.Seal(seals.read(serve.data / "secret.key")).derived(peers.PURPOSE)

    def header(self, method, target, caller, *, name="one", at=None, body=b"", digest=None):
        digest = hashlib.sha256(body).hexdigest() if digest is None else digest
        plain = json.dumps([name, time.time() if at is None else at, secrets.token_hex(16), digest, *caller])
        said = base64.urlsafe_b64encode(plain.encode()).decode()
        return {peers.HEADER: f"{said}.{peers.signature(self.secret, method, target, said)}"}

    def ask(self, method, target, caller, value=None, sent=None, **more):
        body = b"" if value is None else json.dumps(value).encode()
        headers = self.header(method, target, caller, body=body, **more)
        return self.again(method, target, value if sent is None else sent, headers)

    def again(self, method, target, value, headers):
        return self.serve.client().request(method, target, value, headers)


def caller_of(client, name, role):
    """A session of this user, as another node would name it."""
    return peers.Caller("session", name, role, client.get("/api/me/sessions")[0]["id"], time.time() + 3600)


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    place = tmp_path_factory.mktemp("peers")
    with Zeo(place / "zeo") as zeo, Serve(place / "one", node="one", data=place / "data", **zeo.uris()) as serve:
        yield serve


@pytest.fixture(scope="module")
def admin(node):
    return caller_of(node.admin, "admin", "admin")


@pytest.fixture(scope="module")
def files(node):
    """A path that nodes hand on; the agent is away, which only whoever is let in is told."""
    made = node.admin.post("/api/agents", {"label": "web"})["agent_id"]
    return f"/api/agents/{made}/files?path=/etc/hostname"


@pytest.mark.files("any other store is a shared one")
def test_where_there_is_no_shared_store_nobody_speaks_for_others(tmp_path):
    """Whoever reads the master key of such a service still signs nothing that it believes."""
    with Serve(tmp_path / "alone", node="one") as serve:
        made = serve.admin.post("/api/agents", {"label": "web"})["agent_id"]
        target, caller = f"/api/agents/{made}/files?path=/etc/hostname", caller_of(serve.admin, "admin", "admin")
        assert Forger(serve).ask("GET", target, caller).status == 401
        assert Forger(serve).ask("GET", "/api/users", caller).status == 401
        assert Forger(serve).ask("POST", "/node-heard", peers.CLUSTER, {"reports": []}).status in (303, 401, 403)


def test_a_header_is_good_for_one_request(node, admin, files):
    forger = Forger(node)
    headers = forger.header("GET", files, admin)
    assert forger.again("GET", files, None, headers).status == 503  # let in: the agent is away
    assert forger.again("GET", files, None, headers).status == 401


def test_it_opens_paths_that_nodes_hand_on_and_no_others(node, admin):
    forger = Forger(node)
    for target in ("/api/users", "/api/me", "/api/secrets", "/metrics", "/api/agents"):
        assert forger.ask("GET", target, admin).status == 401, target
    assert forger.ask("POST", "/api/users", admin, {"username": "eve", "role": "admin", "password": WORD}).status == 401


def test_everything_that_it_says_is_signed(node, admin, files):
    forger = Forger(node)
    assert forger.ask("GET", files, admin, name="two").status == 401
    for off, way in ((-400, "7 min behind"), (400, "7 min ahead of")):
        refused = forger.ask("GET", files, admin, at=time.time() + off)
        told = f"the clock of another node is {way} that of one, and 5 min are the most"
        assert (refused.status, refused.json["code"]) == (401, "clocks_apart")
        assert told in refused.json["error"]
        assert told in node.admin.get("/api/healing/health")["reasons"]
    headers = forger.header("GET", files, admin)
    assert forger.again("GET", files + "x", None, headers).status == 401
    assert forger.again("POST", files.partition("?")[0], {}, headers).status == 401
    assert forger.ask("GET", files, admin, digest=peers.STREAMED).status == 401


def test_the_body_is_signed_too(node):
    forger, said = Forger(node), {"node": "two", "reports": [], "outputs": [], "watching": []}
    assert forger.ask("POST", "/node-heard", peers.CLUSTER, said).status == 200
    other = forger.ask("POST", "/node-heard", peers.CLUSTER, said, sent={**said, "node": "six"})
    assert other.status in (303, 401, 403)
    large = {**said, "padding": "x" * 200_000}  # judged by its head first
    assert forger.ask("POST", "/node-heard", peers.CLUSTER, large).status == 200
    other = forger.ask("POST", "/node-heard", peers.CLUSTER, large, sent={**large, "node": "six"})
    assert other.status in (303, 401, 403)


def test_the_session_that_it_names_is_looked_up(node, admin, files):
    forger = Forger(node)
    node.admin.post("/api/users", {"username": "vera", "role": "viewer", "password": WORD})
    vera = Client(node.url).login("vera", WORD)
    caller = caller_of(vera, "vera", "admin")
    path = files.partition("?")[0]
    upload = forger.header("POST", path, caller, digest=peers.STREAMED)
    assert forger.again("POST", path, {}, upload).status == 403  # writing files is for operators
    assert forger.ask("GET", files, caller).status == 503
    assert forger.ask("GET", files, admin._replace(session_id="0123456789abcdef")).status == 401
    assert forger.ask("GET", files, admin._replace(name="vera")).status == 401
    assert forger.ask("GET", files, admin._replace(session_id=None)).status == 401
    vera.post("/api/logout")
    assert forger.ask("GET", files, caller).status == 401
