"""A link in a message that is pressed many times at once: one press decides, the others are told who has."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.process import Serve
from tests.support.receiver import Receiver
from tests.support.waiting import until
from tests.system.test_path_tokens import BASE, CONFIG, SCRIPT

pytestmark = pytest.mark.system
PRESSES = 8
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def test_of_many_presses_at_once_one_decides(tmp_path):
    with Serve(tmp_path / "serve", CONFIG) as serve, Receiver() as receiver:
        admin = serve.admin
        admin.post("/api/notifications/channels", {"name": "phone", "url": receiver.url(), "answers_as": "admin"})
        made = admin.post("/api/automations", SCRIPT | {"name": "asks first", "requires_approval": True})
        run = admin.post(f"/api/automations/{made['id']}/run")
        links = until(receiver.links, 20, what="the message")
        pressed = [(act, links[act].removeprefix(BASE)) for act in ("approve", "reject")] * (PRESSES // 2)

        def press(asked):
            return serve.client().request("POST", asked[1], f"act={asked[0]}".encode(), headers=FORM)

        with ThreadPoolExecutor(PRESSES) as people:
            answers = list(people.map(press, pressed))
        assert sorted(answer.status for answer in answers) == [200] + [410] * (PRESSES - 1)
        [decided] = [act for (act, _), answer in zip(pressed, answers, strict=True) if answer.status == 200]
        ended = {"approve": "approved", "reject": "rejected"}[decided]
        assert admin.get(f"/api/approvals/{run['request_id']}")["status"] == ended
        entries = [admin.get(f"/api/audit?action=approval.{act}") for act in ("approve", "reject")]
        assert [len(entry) for entry in entries] == [decided == "approve", decided == "reject"]
        assert all(f"already {ended} by admin" in answer.body.decode() for answer in answers if answer.status == 410)
