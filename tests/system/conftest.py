"""What many tests of processes start: a server of connections, the server of an agent, and clients of them."""

import os

import pytest

from opsapp.auth.config import LoginSettings
from opsapp.auth.ldapconfig import LdapSettings
from tests.support import copies
from tests.support.agent_process import AgentProcess
from tests.support.agent_server import AgentServer
from tests.support.app import Service
from tests.support.certificates import Authority
from tests.support.directory import Slapd, asked_at
from tests.support.frames import FrameClient
from tests.support.raw import Raw
from tests.support.serving import Serving


@pytest.fixture(scope="module")
def serving():
    with Serving() as running:
        yield running


@pytest.fixture
def raw(serving):
    with Raw(serving.port) as client:
        yield client


@pytest.fixture
def session(serving):
    with FrameClient(serving.port) as client:
        yield client


@pytest.fixture
def server():
    made = AgentServer(interval=1.0)
    yield made
    made.stop()


@pytest.fixture
def agent(tmp_path, server):
    with AgentProcess(tmp_path, server) as made:
        made.online()
        yield made


@pytest.fixture(scope="module")
def own_program():
    """No server begins as a copy: for modules that ask the system what the process is, or are about its very start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copies, "own_program", True)
        yield


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    """An agent, online at a server of its own, for the tests of a module that leave both as they are."""
    server = AgentServer(interval=1.0)
    with AgentProcess(tmp_path_factory.mktemp("standing"), server) as made:
        made.online()
        yield made
    server.stop()


@pytest.fixture(autouse=True)
def umask():
    """A command that a test runs in this process sets it, and what later tests write is not for everybody then."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture(scope="module")
def slapd(tmp_path_factory):
    place = tmp_path_factory.mktemp("directory")
    with Slapd(place / "slapd", Authority(place)) as slapd:
        slapd.fill()
        yield slapd


@pytest.fixture
def directory_service(tmp_path, monkeypatch, slapd):
    """A service of the test's own, whose users may be those of the directory."""
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    service = Service(tmp_path)
    service.configure(LdapSettings, **asked_at(slapd))
    service.configure(LoginSettings, attempts_per_ip=1000, attempts_per_user=1000)
    yield service
    service.close()
