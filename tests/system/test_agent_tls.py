"""The agent over https: it checks the certificate, and everything works as without."""

import hashlib
import random

import pytest

from tests.support.agent_process import AgentProcess
from tests.support.agent_server import AgentServer
from tests.support.certificates import Authority
from tests.support.waiting import until

pytestmark = pytest.mark.system


def serve(authority, **how):
    return AgentServer(interval=1.0, certificate=authority.issue("server", **how))


def test_session_commands_and_files_over_tls(tmp_path):
    authority = Authority(tmp_path)
    server = serve(authority)
    (tmp_path / "agent").mkdir()
    data = random.Random(3).randbytes(3_000_000)
    (tmp_path / "big").write_bytes(data)
    try:
        with AgentProcess(tmp_path / "agent", server, ca_file=authority.ca_file) as agent:
            session = agent.online()
            name = server.command("shell", command="head -c 900000 /dev/zero | tr '\\0' y")
            assert len(until(lambda: server.result(name))["output"]) == 900_000
            down = session.open("file_get", path=str(tmp_path / "big"))
            assert until(lambda: session.ended(down), 30)["code"] == "end"
            assert server.streams[down]["data"].hexdigest() == hashlib.sha256(data).hexdigest()
            up = session.open("file_put", path=str(tmp_path / "copy"))
            session.upload(up, [data])
            assert until(lambda: session.ended(up), 30)["code"] == "end"
            assert (tmp_path / "copy").read_bytes() == data
    finally:
        server.stop()


def test_polling_over_tls(tmp_path):
    authority = Authority(tmp_path)
    server = serve(authority)
    server.websocket = False
    (tmp_path / "agent").mkdir()
    try:
        done = AgentProcess(tmp_path / "agent", server, ca_file=authority.ca_file).run("--once")
        assert done.returncode == 0, done.stderr
        assert server.reports
    finally:
        server.stop()


@pytest.mark.parametrize(
    "how",
    [{"self_signed": True}, {"names": ("elsewhere.example",)}, {"days": -3.0}],
    ids=["self-signed", "misnamed", "expired"],
)
def test_a_wrong_certificate_is_refused(tmp_path, how):
    authority = Authority(tmp_path)
    server = serve(authority, **how)
    (tmp_path / "agent").mkdir()
    try:
        done = AgentProcess(tmp_path / "agent", server, ca_file=authority.ca_file).run("--check")
        assert done.returncode == 1
        assert "no TLS with" in done.stderr
        assert server.reports == []
    finally:
        server.stop()
