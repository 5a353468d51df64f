"""The client by which webhooks of runs and heals leave: what it keeps open."""

import os

import pytest

from opsapp.automations.engine import WebhookSender
from opsapp.monitoring.engine import MonitoringSettings
from tests.support.receiver import Receiver


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


def test_a_reload_of_the_configuration_leaves_no_files_open(service, receiver):
    sender, url = WebhookSender(service.node), receiver.url("hook").replace("json://", "http://")

    def called(redirects):
        service.configure(MonitoringSettings, max_redirects=redirects)
        reply, problem = sender.send("a run", "POST", url, {}, {}, 5.0)
        assert (reply.status, problem) == (200, "")
        return len(os.listdir("/proc/self/fd"))

    before = called(1)
    assert max(called(1 + n) for n in range(8)) <= before + 4
