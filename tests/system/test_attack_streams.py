"""People who open every stream that there is: neither the others nor agents are kept out."""

import base64
from contextlib import ExitStack

import pytest

from tests.support.process import PASSWORD, ROOT, Serve
from tests.support.raw import Raw
from tests.support.waiting import until

pytestmark = [pytest.mark.system, pytest.mark.attack]

CONNECTIONS = 100


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    directory = tmp_path_factory.mktemp("streams")
    ini = directory / "small.ini"
    ini.write_text((ROOT / "development.ini").read_text().replace("port = 6080", f"max_connections = {CONNECTIONS}"))
    config = {"web": {"login": {"attempts_per_ip": 10_000, "attempts_per_user": 10_000}}}
    with Serve(directory, config=config, ini=ini) as running:
        yield running


def viewer(serve, name):
    """A token of a viewer who is new."""
    serve.admin.post("/api/users", {"username": name, "role": "viewer", "password": PASSWORD})
    return serve.client().login(name, PASSWORD)


def stream(serve, stack, token):
    """(status, the connection) of one more stream."""
    raw = stack.enter_context(Raw(serve.port))
    raw.send(f"GET /api/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    return raw.head()[0], raw


def has_room(serve, token):
    """Whether one more is opened; it is closed again, so that asking often fills nothing."""
    with ExitStack() as asking:
        return stream(serve, asking, token)[0] == 200


def session(serve, stack, agent):
    """The status of an agent's session."""
    raw = stack.enter_context(Raw(serve.port))
    lines = [f"GET /api/agents/{agent['agent_id']}/session HTTP/1.1", "Host: x", f"X-Agent-Key: {agent['key']}",
             "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
             "Sec-WebSocket-Key: " + base64.b64encode(b"k" * 16).decode()]  # fmt: skip
    raw.send(("\r\n".join(lines) + "\r\n\r\n").encode())
    return raw.head()[0]


def test_a_user_has_at_most_twenty_whatever_the_credential(serve):
    vera = viewer(serve, "vera")
    key = vera.post("/api/keys", {"name": "k", "role": "viewer"})["key"]
    with ExitStack() as stack:
        opened = [stream(serve, stack, token) for token in (vera.token, key) * 10]
        assert [status for status, _ in opened] == [200] * 20
        assert stream(serve, stack, key)[0] == 429
        other = viewer(serve, "victor")
        assert stream(serve, stack, other.token)[0] == 200
        opened[0][1].close()
        until(lambda: has_room(serve, vera.token), 10, what="room for one more")


def test_half_of_the_connections_is_left_to_agents(serve):
    agents = [serve.admin.post("/api/agents", {"label": f"box-{n}"}) for n in range(CONNECTIONS // 2)]
    people = [viewer(serve, f"viewer-{n}") for n in range(4)]
    with ExitStack() as stack:
        statuses = [stream(serve, stack, each.token)[0] for each in people for _ in range(20)]
        assert statuses.count(503) >= 40
        assert [session(serve, stack, agent) for agent in agents] == [101] * len(agents)
        with Raw(serve.port) as honest:
            assert honest.get("/api/status/public").status == 200
