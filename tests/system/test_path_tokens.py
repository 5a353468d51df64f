"""Tokens that stand in a path: no file of the service has one in clear, though it was called with it. That of a push
monitor is shown again by the API, so it is stored."""

import pytest

from tests.support.process import Serve

pytestmark = pytest.mark.system

SCRIPT = {"name": "hello", "type": "script", "params": {"script": "true"}}


@pytest.fixture(scope="module")
def called(tmp_path_factory):
    """The directory of a service that was called with a token of each kind, and the tokens."""
    place = tmp_path_factory.mktemp("tokens")
    with Serve(place) as serve:
        admin = serve.admin
        webhook = admin.post("/api/automations", SCRIPT)["webhook_url"]
        inlet = admin.post("/api/healing/inlets", {"name": "Alertmanager"})["url"]
        event = {"id": "1", "status": "firing", "name": "Disk", "target": "Backup"}
        for url, body in ((webhook, {}), (inlet, event)):
            assert serve.client().request("POST", url[url.index("/api/") :], body).status == 200
    return place, {"webhook": webhook.rpartition("/")[2], "inlet": inlet.rpartition("/")[2]}


@pytest.mark.parametrize("kind", ["webhook", "inlet"])
def test_no_file_has_it_in_clear(called, kind):
    place, tokens = called
    files = [path for path in place.rglob("*") if path.is_file()]
    assert files
    assert [path.name for path in files if tokens[kind].encode() in path.read_bytes()] == []
