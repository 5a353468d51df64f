"""A status page with a public monitor and subscribers, whose steps the test makes: real queue, real mail server."""

from __future__ import annotations

import re

from opsapp.statuspages.engine import announcements, dispatch, workers
from opsapp.statuspages.resources import store_of
from tests.support.monitoring import UP, Lookout

SETTINGS, SUBSCRIPTIONS = "/api/status/settings", "/api/status/subscriptions"
ADA = "ada.visitor@example.org"


class Press:
    """A service with a public monitor, whose steps the test makes."""

    def __init__(self, service, mailbox):
        self.service, self.mailbox, self.node, self.clock = service, mailbox, service.node, service.clock
        self.carriers = workers.carriers(self.node)
        self.node.leases.want("status-page")
        self.node.leases.step()
        self.lookout = Lookout(service)
        self.shop = self.lookout.add(name="Shop", tags=["public"], retries=0)
        self.lookout.sees = {self.shop: UP}
        self.lookout.run(60, step=5)
        self.set(
            name="Lindenhof",
            public_url="https://status.example",
            subscribe_by=["mail"],
            mail_from="status@lindenhof.example",
            mail_server=f"smtp://127.0.0.1:{mailbox.port}",
        )

    def set(self, **given):
        self.service.tokens.clear()
        return self.service.ada.put_json(SETTINGS, given)

    def ask(self, address=ADA, status=201, **more):
        body = {"kind": "mail", "address": address} | more
        return self.service.anonymous.post_json(SUBSCRIPTIONS, body, status=status)

    def work(self):
        while announcements.step(self.node) or any([self.send(kind) for kind in self.carriers]):
            pass

    def send(self, kind):
        return dispatch.step(self.node, kind, self.carriers[kind])

    def after(self, seconds):
        self.clock.advance(seconds)
        self.node.leases.step()
        self.work()

    def link(self, purpose, mail=None):
        text = (mail or self.mailbox.mails[-1]).get_content()
        return re.search(rf"https://status\.example(/status/{purpose}/\w+)", text)[1]

    def subscribed(self, address=ADA, **more):
        self.ask(address, **more)
        self.work()
        own = [mail for mail in self.mailbox.mails if mail["To"] == address][-1]
        token = self.link("confirm", own).rpartition("/")[2]
        self.service.transact(lambda root: workers.subscriptions.confirm(root, token, "192.0.2.1"))

    def see(self, outcome, monitor_id=None):
        self.lookout.sees[monitor_id or self.shop] = outcome
        self.lookout.run(60, step=5)

    def update(self, message, **more):
        self.service.tokens.clear()
        incident = self.lookout.incidents()[0]["id"]
        body = {"stage": "identified", "message": message} | more
        self.service.otto.post_json(f"/api/monitoring/incidents/{incident}/updates", body, status=201)

    @property
    def subjects(self):
        return [mail["Subject"] for mail in self.mailbox.mails]

    def store(self, fn):
        return self.service.read(lambda root: fn(store_of(root)))
