"""An agent that systemd stops says goodbye: it is shown at once, and told when it does not come back."""

from tests.fleet.care import Ward
from tests.support.waiting import until

INTERVAL_S = 10


def test_a_stopped_agent_is_shown_at_once_and_told_when_it_stays_away(host, server):
    ward = Ward(host, server({"agents": {"report_interval_s": INTERVAL_S}}))
    ward.api.post("/api/notifications/channels", {"name": "people", "url": "json://127.0.0.1:9/x"}, expect=201)

    def seen(**wanted):
        shown = ward.api.get(f"/api/agents/{ward.agent_id}")
        return all(shown[name] == value for name, value in wanted.items()) and shown

    def told():
        deliveries = ward.api.get("/api/notifications/deliveries?limit=100")
        titles = [message["title"] for delivery in deliveries for message in delivery["messages"]]
        return [title for title in titles if host.name in title]

    host.exec("systemctl", "stop", "opsapp-agent")
    shown = until(lambda: seen(status="offline"), 30, what="the goodbye")
    assert shown["stopped_at"]
    assert shown["unheard"] is True
    host.exec("systemctl", "start", "opsapp-agent")
    until(lambda: seen(status="online", stopped_at=None), 30, what="the agent online")
    assert told() == [], "a restart is no message"
    host.exec("systemctl", "stop", "opsapp-agent")
    until(lambda: seen(status="offline", unheard=False), 60, what="the end of its time to come back")
    until(told, 30, what="the message")
    assert told() == [f"{host.name} is offline"]
    assert seen()["stopped_at"]
