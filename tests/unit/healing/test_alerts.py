"""Which arrivals the evaluation of rules is bothered with."""

from opsapp.healing.engine.alerts import Alerts, compile_rules
from opsapp.healing.engine.readings import LiveReadings
from opsapp.series.live import Live

RULES = [{"id": "a", "condition": "cpu_percent > 9", "enabled": True},
         {"id": "b", "condition": 'monitor.status == "down"', "enabled": True}]  # fmt: skip


def test_what_no_rule_names_of_a_monitor_is_not_looked_at():
    alerts = Alerts(LiveReadings(Live()), {})
    alerts.use(compile_rules(RULES))
    assert not alerts.arrived("monitor:a", {"response_time_ms": 3.0})
    assert alerts.arrived("monitor:a", {"status": "down"})
    assert alerts.arrived("agent:b", {"load1": 3.0})
    assert alerts.dirty == {"monitor:a", "agent:b"}
