"""Small things that an attacker builds on: names that deceive, http where it should be https, keys in addresses."""

import json

import pytest

from tests.support.process import Serve
from tests.support.raw import Raw
from tests.support.serving import Serving

pytestmark = [pytest.mark.system, pytest.mark.attack]

YEAR = "max-age=31536000"


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    with Serve(tmp_path_factory.mktemp("names")) as running:
        yield running


@pytest.mark.parametrize("char", ["\n", "\x1b", "\u202e", "\u2066", "\u200f", "\x9b"])
def test_names_and_labels_that_deceive_are_refused(serve, char):
    name = f"web{char}1"
    for path, field, body in (
        ("/api/agents", "label", {"label": name}),
        ("/api/monitoring/endpoints", "name", {"name": name, "type": "tcp", "url": "tcp://127.0.0.1:1"}),
        ("/api/automations", "name", {"name": name, "type": "script", "params": {"script": "true"}}),
    ):
        answer = serve.admin.request("POST", path, body)
        assert answer.status == 422, path
        assert "must not be blank, nor hold characters" in answer.json["fields"][field]


def test_a_hostname_that_deceives_is_shown_without(serve):
    agent = serve.admin.post("/api/agents", {"label": "deceiver"})
    report = json.dumps({"hostname": "web\u202egnp.1\x1b[2J", "os": "Linux\n"}).encode()
    with Raw(serve.port) as raw:
        headers = ("Content-Type: application/json", f"X-Agent-Key: {agent['key']}")
        assert raw.get(f"/api/agents/{agent['agent_id']}/report", *headers, method="POST", body=report).status == 200
    shown = serve.admin.get(f"/api/agents/{agent['agent_id']}")
    assert (shown["hostname"], shown["os"]) == ("web\ufffdgnp.1\ufffd[2J", "Linux\ufffd")


@pytest.mark.parametrize("issuer", ["http://id.example.org", "http://10.0.0.1:8080/realm"])
def test_an_issuer_without_tls_is_refused(tmp_path, issuer):
    oidc = {"enabled": True, "issuer": issuer, "client_id": "c", "redirect_uri": "https://x/"}
    serve = Serve(tmp_path, config={"web": {"oidc": oidc}})
    with pytest.raises(AssertionError, match="ended with"):
        serve.start()
    assert "web.oidc.issuer: must begin with https://" in serve.tail()


def strict(port, *headers, path="/api/plain"):
    with Raw(port) as raw:
        return raw.get(path, *headers).headers.get("strict-transport-security")


def test_behind_tls_browsers_are_told_to_stay_there():
    with Serving(base_url="https://ops.example.org") as serving:
        assert strict(serving.port) == YEAR
        assert strict(serving.port, path="/%zz") == YEAR  # what the server itself refuses
    with Serving(trusted_proxies=["127.0.0.1"]) as serving:
        assert strict(serving.port, "X-Forwarded-Proto: https") == YEAR
        assert strict(serving.port, "X-Forwarded-Proto: http") is None
        assert strict(serving.port) is None
    with Serving(base_url="http://ops.example.org") as serving:
        assert strict(serving.port, "X-Forwarded-Proto: https") is None  # anybody can say so
