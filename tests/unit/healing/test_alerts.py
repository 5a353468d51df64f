"""Which arrivals the evaluation of rules is bothered with."""

from opsapp.healing.engine.alerts import Alerts, watched_rules
from opsapp.healing.engine.readings import LiveReadings
from opsapp.healing.records import RuleRecord
from opsapp.series.live import Live

CONDITIONS = {"a": "cpu_percent > 9", "b": 'monitor.status == "down"'}
RULES = [RuleRecord(condition, id=name) for name, condition in CONDITIONS.items()]


def test_what_no_rule_names_of_a_monitor_is_not_looked_at():
    alerts = Alerts(LiveReadings(Live()), {})
    alerts.use(watched_rules(RULES))
    assert not alerts.arrived("monitor:a", {"response_time_ms": 3.0})
    assert alerts.arrived("monitor:a", {"status": "down"})
    assert alerts.arrived("agent:b", {"load1": 3.0})
    assert alerts.dirty == {"monitor:a", "agent:b"}
