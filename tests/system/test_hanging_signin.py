"""Signing in while what a sign-in waits for stands still: the identity provider, or the line before the passwords."""

import contextlib
import os
import signal
import socket
import threading
import urllib.parse

import pytest

from opsapp.auth.engine import singlesignon
from tests.support.process import PASSWORD, Serve
from tests.support.provider import CLIENT, SECRET, Provider
from tests.support.raw import Raw
from tests.support.together import at_once
from tests.support.waiting import until
from tests.system.test_attack_locks import Browser

pytestmark = [pytest.mark.system, pytest.mark.attack]

PEOPLE = 60
AUTHORIZE, CALLBACK = "/api/auth/oidc/authorize", "/api/auth/oidc/callback"


def signed_on_by(issuer):
    oidc = {"enabled": True, "issuer": issuer, "client_id": CLIENT, "client_secret": SECRET, "role_claim": "roles"}
    oidc |= {"redirect_uri": f"http://localhost{CALLBACK}", "role_map": {"viewer": "staff"}}
    return {"web": {"oidc": oidc}}


def begin(serve):
    return serve.client().request("GET", AUTHORIZE)


class SilentProvider:
    """It takes whoever comes, and never says a word. `asked`: the connections, which stay open until the end."""

    def __init__(self):
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.asked = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                self.asked.append(self._listening.accept()[0])

    def close(self):
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for connection in self.asked:
            connection.close()


def test_a_provider_that_says_nothing_is_waited_for_once_by_all_together(tmp_path):
    """It is asked for all of them, and not for each: so nobody waits behind the others' waiting. On a machine that is
    slow the first have their answer when the last come, and it is asked once more for those."""
    with contextlib.closing(SilentProvider()) as silent, Serve(tmp_path, signed_on_by(silent.url)) as serve:
        answers = at_once([lambda: begin(serve)] * PEOPLE)
        assert {(answer.status, answer.json["code"]) for answer in answers} == {(502, "provider_unreachable")}
        assert 1 <= len(silent.asked) <= PEOPLE / 6
        assert serve.client().login("admin", PASSWORD).get("/api/me")["role"] == "admin"


@pytest.mark.nightly("the core list has who goes to it")
def test_who_comes_back_to_a_provider_that_hangs_is_asked_to_come_again(tmp_path):
    provider, most = Provider(), singlesignon.AT_ONCE + singlesignon.MOST_WAITING
    try:
        with Serve(tmp_path, signed_on_by(provider.url)) as serve:
            flows = [flow(serve, provider) for _ in range(most + 1)]
            provider.behave(**{"break": "token hangs", "claims": {"roles": ["staff"]}})
            others = [threading.Thread(target=come_back, args=(serve, *each), daemon=True) for each in flows[:-1]]
            for other in others:
                other.start()
            late = until(lambda: too_many(serve, *flows[-1]), what="a refusal")
            assert (late.json["code"], late.headers["retry-after"]) == ("provider_slow", "5")
            assert begin(serve).status == 302  # the next one is not behind them
            provider.behave(claims={"roles": ["staff"]})
            for other in others:
                other.join()
            assert come_back(serve, *flows[-1]).json["role"] == "viewer"  # the flow was not used up
    finally:
        provider.stop()


def said_of_the_provider(serve):
    """What health says of it."""
    reasons = serve.admin.get("/api/healing/health")["reasons"]
    return [reason for reason in reasons if "identity provider" in reason]


def test_health_says_that_a_provider_hangs_until_it_answers_again(tmp_path):
    """Also while nobody signs in with it."""
    provider = Provider()
    try:
        with Serve(tmp_path, signed_on_by(provider.url)) as serve:
            began = flow(serve, provider)
            assert said_of_the_provider(serve) == []
            provider.behave(**{"break": "token hangs"})
            assert come_back(serve, *began).json["code"] == "provider_error"
            (said,) = said_of_the_provider(serve)
            assert f"{provider.url} does not answer (its tokens)" in said
            assert serve.admin.get("/api/healing/health")["status"] == "Degraded"
            provider.behave(**{"break": "description hangs"})
            until(lambda: any("description" in said for said in said_of_the_provider(serve)), what="a look at it")
            provider.behave()
            until(lambda: not said_of_the_provider(serve), what="the end of it")
    finally:
        provider.stop()


def flow(serve, provider):
    """A browser that the provider has sent back: its path, and the cookie of its flow."""
    answer = begin(serve)
    back = urllib.parse.urlsplit(provider.sign_in(answer.headers["location"]))
    return f"{back.path}?{back.query}", answer.headers["set-cookie"].partition(";")[0]


def come_back(serve, path, cookie):
    return serve.client().request("GET", path, headers={"Cookie": cookie, "Accept": "application/json"})


def too_many(serve, path, cookie):
    """The answer, once there are too many; asked without a cookie, so that the flow is not used up before."""
    answer = come_back(serve, path, "none=none")
    return answer if answer.status == 503 else None


STORM = 60
LENIENT = {"web": {"trusted_proxies": ["127.0.0.1"], "login": {"attempts_per_ip": 10_000, "attempts_per_user": 10_000}}}


def storm_of(serve, closing):
    """Connections on which many try to sign in, each from an address of its own."""
    links = [closing.enter_context(Raw(serve.port, timeout=300)) for _ in range(STORM)]
    for number, link in enumerate(links):
        body = b'{"username": "ghost%d", "password": "a wrong password"}' % number
        head = f"POST /api/login HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 10.0.0.{number}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        link.send(head.encode() + body)
    return links


def test_a_known_browser_does_not_wait_behind_a_storm_of_attempts(tmp_path):
    with contextlib.ExitStack() as closing, Serve(tmp_path, LENIENT) as serve:
        browser, done = Browser(serve), []
        assert browser.sign_in("admin") == 303
        page = browser.page()
        links = storm_of(serve, closing)
        readers = [threading.Thread(target=lambda link=link: done.append(link.answer().status)) for link in links]
        for reader in readers:
            reader.start()
        until(lambda: done, what="the first answer of the storm")
        assert browser.send(page, "admin") == 303
        hashed = done.count(401)
        for reader in readers:
            reader.join()
        assert set(done) <= {401, 503}  # those for whom it would take long are asked to come again
        assert hashed < STORM / 2


def is_let_in(serve, username):
    """False while so many passwords wait that nobody is let into the line."""
    answer = serve.client().request("POST", "/api/login", {"username": username, "password": PASSWORD})
    assert answer.status in (200, 503)
    return answer.status == 200


def test_the_password_of_a_client_that_has_gone_is_not_hashed(tmp_path):
    with contextlib.ExitStack() as closing, Serve(tmp_path, LENIENT) as serve:
        serve.admin.post("/api/users", {"username": "olga", "role": "viewer", "password": PASSWORD})
        os.kill(serve.child.pid, signal.SIGSTOP)
        first, *others = storm_of(serve, closing)  # all of it is there when the first is looked at
        os.kill(serve.child.pid, signal.SIGCONT)
        assert first.answer().status in (401, 503)
        os.kill(serve.child.pid, signal.SIGSTOP)
        for link in others:
            link.sock.close()
        os.kill(serve.child.pid, signal.SIGCONT)
        until(lambda: is_let_in(serve, "olga"), what="a sign-in in its turn behind what is left of the storm")
        entries = serve.admin.get("/api/audit?action=login&limit=1000")
        assert len([entry for entry in entries if entry["reason"] == "bad_credentials"]) < STORM
