"""Channels that lead where monitors may not look."""

from contextlib import closing

import pytest

from tests.support.process import Serve
from tests.support.receiver import Receiver

pytestmark = [pytest.mark.system, pytest.mark.attack]


ELSEWHERE = "127.0.0.5"


def test_a_channel_reaches_no_denied_network_and_others_as_before(tmp_path):
    config = {"monitoring": {"deny_networks": ["127.0.0.1/32", "::1/128"]}}
    with closing(Receiver()) as receiver, closing(Receiver(ELSEWHERE)) as other, Serve(tmp_path, config) as serve:
        for host in ("127.0.0.1", "localhost"):
            given = {"name": f"at {host}", "url": receiver.url().replace("127.0.0.1", host)}
            made = serve.admin.post("/api/notifications/channels", given)
            tried = serve.admin.request("POST", f"/api/notifications/channels/{made['id']}/test", {})
            assert tried.status == 502, (host, tried.body)
            assert "deny_networks" in tried.json["error"]
        assert receiver.asked == 0
        made = serve.admin.post("/api/notifications/channels", {"name": "allowed", "url": other.url()})
        serve.admin.post(f"/api/notifications/channels/{made['id']}/test")
        assert other.asked == 1
