"""Two nodes on a ZEO server over TLS, what passes between them, and who is refused."""

import contextlib
import http.client
import os
import socket
import ssl
import threading

import pytest

from opsapp.cli import main
from opsapp.runtime.cluster import certificates, tls
from opsapp.runtime.cluster.certificates import ClusterMember
from tests.support.agent_process import EnrolledAgent
from tests.support.nginx import Nginx, guide
from tests.support.othernode import knows, signed_in_at
from tests.support.process import Serve, Zeo, free_port, opsapp
from tests.support.waiting import until
from tests.support.writers import stored, write
from tests.system.test_agent_streams import get, put

pytestmark = [pytest.mark.system, pytest.mark.own_store]

NODES = [ClusterMember(name, (name, "127.0.0.1")) for name in ("one", "two")]


class Listening:
    """A proxy that keeps all that passes."""

    def __init__(self, port):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.target, self.heard = self.listener.getsockname()[1], port, bytearray()
        self.sockets, self.threads = [self.listener], []
        self._begin(self._accept)

    def _begin(self, fn, *values):
        self.threads.append(threading.Thread(target=fn, args=values, daemon=True))
        self.threads[-1].start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.target))
                self.sockets += [near, far]
                self._begin(self._pass, near, far)
                self._begin(self._pass, far, near)

    def _pass(self, source, sink):
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                self.heard += piece
                sink.sendall(piece)
        self._end(sink)

    @staticmethod
    def _end(each):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        for each in list(self.sockets):
            self._end(each)
        for thread in list(self.threads):
            thread.join(10)
        for each in self.sockets:
            each.close()


@pytest.fixture
def place(tmp_path):
    store = ClusterMember("store", ("127.0.0.1",), serves_only=True)
    certificates.make(tmp_path / "tls", [store, *NODES], renew=False, now=certificates.now())
    return tmp_path / "tls"


@pytest.fixture
def zeo(tmp_path, place):
    with Zeo(tmp_path / "zeo", cuts=True, tls=place / "store") as zeo:
        yield zeo


def uris(port, directory):
    where = f"zeos://127.0.0.1:{port}?tls={directory}"
    return {"store": f"{where}&storage=main", "history_store": f"{where}&storage=history"}


@pytest.mark.nightly("the core list has who is refused")
def test_two_nodes_work_through_tls_and_nothing_of_it_can_be_read(tmp_path, place, zeo):
    with Listening(zeo.port) as wire, contextlib.ExitStack() as nodes:
        one, two = (
            nodes.enter_context(
                Serve(tmp_path / name, node=name, data=tmp_path / "data", **uris(wire.port, place / name))
            )
            for name in ("one", "two")
        )
        made = write(one.admin, "a-name-that-somebody-listens-for")
        two_admin = signed_in_at(two, one)
        until(lambda: made in stored(two_admin), 5, what="the other node seeing the write")
        where = [f"--{name.replace('_', '-')}={uri}" for name, uri in uris(zeo.port, place / "one").items()]
        done = opsapp("doctor", f"--data={tmp_path / 'data'}", *where)
        told = done.stdout
        assert done.returncode == 0, told
        assert f"{place}/one/cert.pem holds until" in told
        assert f"that of the store at 127.0.0.1:{zeo.port} holds until" in told
    assert len(wire.heard) > 100_000
    for word in (b"opsapp.", b"persistent", b"somebody-listens", b"admin", b"cposonmap"):
        assert word not in wire.heard, word


def test_the_same_words_are_heard_without_it(tmp_path):
    """What the test above looks for is there to be found."""
    with Zeo(tmp_path / "zeo") as zeo, Listening(zeo.port) as wire:
        store = zeo.uris()["store"].replace(str(zeo.port), str(wire.port))
        assert main(["init", f"--store={store}", f"--data={tmp_path / 'data'}"]) == 0
        assert b"opsapp." in wire.heard
        assert b"persistent" in wire.heard


def assert_refused(uri):
    done = opsapp("user", "list", f"--store={uri}")
    assert (done.returncode, "its server does not answer" in done.stderr) == (1, True), done.stderr


@pytest.mark.attack
def test_who_has_no_certificate_of_the_cluster_is_refused(tmp_path, place, zeo):
    certificates.make(tmp_path / "others", NODES, renew=False, now=certificates.now())
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "ca.pem").write_bytes((place / "one/ca.pem").read_bytes())
    context = ssl.create_default_context(cafile=str(bare / "ca.pem"))
    heard = b""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", zeo.port), 5) as plain:
        with context.wrap_socket(plain, server_hostname="127.0.0.1") as encrypted:
            heard = encrypted.recv(100)  # a server that accepts one says its version
    assert heard == b""
    for kept in (certificates.CERT, certificates.KEY):  # the store's own is for serving alone
        (bare / kept).write_bytes((place / "store" / kept).read_bytes())
    refused = [
        f"zeo://127.0.0.1:{zeo.port}?storage=main",
        f"zeos://127.0.0.1:{zeo.port}?storage=main&tls={tmp_path / 'others/one'}",
        f"zeos://127.0.0.1:{zeo.port}?storage=main&tls={bare}",
    ]
    for uri in refused:
        assert_refused(f"{uri}&wait_timeout=2")


@pytest.mark.nightly("the core list has who is refused")
def test_a_server_with_another_name_is_not_believed(place, zeo):
    assert_refused(f"zeos://localhost:{zeo.port}?storage=main&wait_timeout=2&tls={place / 'one'}")
    with pytest.raises(ssl.SSLCertVerificationError):
        tls.end_of_server("localhost", zeo.port, place / "one")


@pytest.mark.nightly("the core list has who is refused")
def test_what_one_node_hands_on_to_another_goes_through_tls(tmp_path, place):
    """As the guide says it: nginx takes it, and asks for the certificate of the node."""
    ports = {name: free_port() for name in ("one", "two")}
    with contextlib.ExitStack() as running:
        zeo = running.enter_context(Zeo(tmp_path / "zeo", tls=place / "store"))
        nodes = {
            name: Serve(
                tmp_path / name, node=name, data=tmp_path / "data", address=f"https://127.0.0.1:{ports[name]}",
                **uris(zeo.port, place / name),
            )
            for name in ports
        }  # fmt: skip
        servers = [
            guide("ssl_verify_client").replace("10.0.0.5:6443", f"127.0.0.1:{ports[name]}")
            .replace("127.0.0.1:6081", f"127.0.0.1:{node.port}").replace("/etc/opsapp/tls", str(place / name))
            for name, node in nodes.items()
        ]  # fmt: skip
        nginx = running.enter_context(Nginx(tmp_path / "nginx", "\n".join(servers), ports["one"]))
        for node in nodes.values():
            running.enter_context(node)
        other = signed_in_at(nodes["two"], nodes["one"])
        agent = running.enter_context(EnrolledAgent(tmp_path / "agent", nodes["one"]))
        agent.online()
        until(lambda: knows(other, agent.path)["connected"], what="the other node knowing of the session")
        data = os.urandom(300_001)
        assert put(other, agent, tmp_path / "big", data).status == 200
        assert get(other, agent, tmp_path / "big").body == data
        assert '"POST /api/agents' in nginx.access()
        bare = ssl.create_default_context(cafile=str(place / "one/ca.pem"))
        refused = http.client.HTTPSConnection("127.0.0.1", ports["one"], context=bare, timeout=60)
        refused.request("GET", "/api/status/public")
        assert refused.getresponse().status == 400  # nginx: no required certificate was sent
        refused.close()
