"""A directory that hangs, goes away, or lets somebody in at the moment when the service is killed."""

import contextlib
import http.client
import os
import signal
import threading

import pytest

from opsapp.auth.engine.directory import AT_ONCE
from opsapp.auth.engine.directorystate import MOST_OF_A_GROUP
from opsapp.wire.records import plain
from tests.support.certificates import Authority
from tests.support.directory import BASE, PASSWORD, Relay, Slapd, asked_at
from tests.support.process import PASSWORD as LOCAL_PASSWORD
from tests.support.process import Serve
from tests.support.waiting import until

pytestmark = [pytest.mark.system, pytest.mark.attack]

MANY = {"attempts_per_ip": 10_000, "attempts_per_user": 10_000}
LONG_S = 50.0  # longer than the look at the directory waits


@pytest.fixture
def slapd(tmp_path):
    with Slapd(tmp_path / "slapd", Authority(tmp_path)) as slapd:
        slapd.fill()
        yield slapd


def configured(slapd, **settings):
    said = asked_at(slapd, timeout_s=LONG_S, **settings)
    said["role_map"] = {role: list(groups) for role, groups in plain(said["role_map"]).items()}
    return {"auth": {"ldap": said}, "web": {"login": MANY}}


def sign_in(serve, username="vic", password=PASSWORD):
    return serve.client(timeout=600).request("POST", "/api/login", {"username": username, "password": password})


def said_of_the_directory(serve):
    reasons = serve.admin.get("/api/healing/health")["reasons"]
    return [reason for reason in reasons if reason.startswith("the directory ")]


def doctors_word(serve):
    findings = serve.admin.get("/api/doctor")["findings"]
    return next(finding["level"] for finding in findings if finding["what"] == "directory")


@contextlib.contextmanager
def stopped(process):
    os.kill(process.child.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process.child.pid, signal.SIGCONT)


def test_a_directory_that_hangs_holds_nobody_else_up(tmp_path, slapd):
    with Serve(tmp_path / "serve", configured(slapd)) as serve:
        assert sign_in(serve).status == 200
        assert said_of_the_directory(serve) == []
        done = []
        with stopped(slapd):
            waiting = [
                threading.Thread(target=lambda: done.append(sign_in(serve).status), daemon=True)
                for _ in range(MOST_OF_A_GROUP)
            ]
            for thread in waiting:
                thread.start()
            assert serve.client().login("admin", LOCAL_PASSWORD).get("/api/me")["role"] == "admin"
            until(lambda: said_of_the_directory(serve), what="word of it in health")
            assert doctors_word(serve) == "warn"
            answer = until(lambda: refused(serve), what="a refusal that waits for nothing")
            assert (answer.json["code"], answer.headers["retry-after"]) == ("directory_unreachable", "10")
            assert len(done) <= MOST_OF_A_GROUP - AT_ONCE  # those that it has begun to ask for still wait
        until(lambda: not said_of_the_directory(serve), what="the end of it")
        for thread in waiting:
            thread.join()
        assert set(done) <= {200, 503}
        assert sign_in(serve).status == 200


def refused(serve):
    """The answer, where it is known that there is none; else nobody waits for it."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        answer = serve.client(timeout=3).request("POST", "/api/login", {"username": "vic", "password": PASSWORD})
        return answer if answer.status == 503 and answer.json["code"] == "directory_unreachable" else None


def test_a_directory_that_goes_away_and_comes_back(tmp_path, slapd):
    with Serve(tmp_path / "serve", configured(slapd)) as serve:
        vic = serve.client().login("vic", PASSWORD)
        slapd.kill()
        until(lambda: said_of_the_directory(serve), what="word of it in health")
        assert sign_in(serve).status == 503
        assert vic.get("/api/me")["username"] == "vic"
        assert serve.client().login("admin", LOCAL_PASSWORD).get("/api/me")["role"] == "admin"
        slapd.start()
        until(lambda: not said_of_the_directory(serve), what="the end of it")
        assert (sign_in(serve).status, doctors_word(serve)) == (200, "ok")


def test_the_check_ends_the_sessions_of_who_is_gone(tmp_path, slapd):
    """As it runs by itself: with its start."""
    with Serve(tmp_path / "serve", configured(slapd)) as serve:
        vic, otis = (serve.client().login(name, PASSWORD) for name in ("vic", "otis"))
        slapd.remove("vic")
        serve.stop()
        serve.start()
        until(lambda: vic.request("GET", "/api/me").status == 401, what="the end of the session")
        assert otis.get("/api/me")["role"] == "operator"


@pytest.mark.crash
@pytest.mark.parametrize(
    "delivered", [False, pytest.param(True, marks=pytest.mark.nightly("the core list kills a moment earlier"))]
)
def test_a_kill_between_the_bind_and_the_commit_leaves_all_or_nothing(tmp_path, slapd, delivered):
    with Relay(slapd.port) as relay:
        said = configured(slapd, uri=relay.uri, allow_plain=True)
        with Serve(tmp_path / "serve", said) as serve:
            serve.admin.get("/api/me")
            killed_at_the_bind(serve, relay, "otis", delivered)
            users = [user["username"] for user in serve.admin.get("/api/users")]
            made = [entry["target"] for entry in serve.admin.get("/api/audit?action=user.create")]
            assert made.count("otis") == users.count("otis") <= delivered
            assert sign_in(serve, "otis").json["role"] == "operator"
            assert [user["username"] for user in serve.admin.get("/api/users")].count("otis") == 1
            assert serve.admin.get("/api/audit/verify")["valid"] is True


@pytest.mark.crash
@pytest.mark.nightly("the core list kills at the same moment, and has the check without a kill")
def test_a_kill_while_somebody_loses_the_role_ends_it_later(tmp_path, slapd):
    with Relay(slapd.port) as relay:
        said = configured(slapd, uri=relay.uri, allow_plain=True)
        with Serve(tmp_path / "serve", said) as serve:
            otis, vic = (serve.client().login(name, PASSWORD) for name in ("otis", "vic"))
            slapd.tell(f"dn: cn=operators,ou=groups,{BASE}\nchangetype: delete\n", adds=False)
            killed_at_the_bind(serve, relay, "otis", delivered=False)
            until(lambda: otis.request("GET", "/api/me").status == 401, what="the check that comes with the start")
            assert vic.get("/api/me")["role"] == "viewer"
            assert sign_in(serve, "otis").status == 401


def killed_at_the_bind(serve, relay, username, delivered):
    """kill -9 when the directory has said yes to the password, before the service hears of it or just after; and
    started again."""
    killed = []

    def kill(number):
        if number != 2:
            return True
        if delivered:
            threading.Thread(target=lambda: (serve.kill(), killed.append(username)), daemon=True).start()
            return True
        serve.kill()
        killed.append(username)
        return False

    relay.at_answer = kill
    with contextlib.suppress(OSError, http.client.HTTPException):
        sign_in(serve, username)
    until(lambda: killed, what="the kill")
    relay.at_answer = lambda number: True
    serve.start()
