"""A wrong dependency, on real hosts: two units that fail together by chance are taken for parent and child, a person
confirms it, and heals of the supposed parent alone show that it is none."""

import pytest

from tests.fleet.conftest import QUICK
from tests.fleet.failing import COOLDOWN_S, FailingUnit
from tests.fleet.healed import newest, promote, verified
from tests.support.waiting import until

WINDOW_S = 4
SETTINGS = {
    "healing": {
        **QUICK["healing"],
        "default_rules": False,
        "edges": {"window_s": WINDOW_S},
        "discovery": {"every_s": 2, "together_s": 2},
        "promotion": {"triggers": 1000},
        "holdout": {"share": 0},
    }
}
TOGETHER = 20  # at most so many failures together until it is suggested
MOST_INCIDENTS = 10


def rule_about(unit):
    return {
        "id": unit.name,
        "condition": f'service.{unit.name}.state != "active"',
        "severity": "critical",
        "targets": {"agents": [unit.host.name], "monitors": []},
        "escalation_chain": [{"action": "restart_service", "params": {"service": unit.name}}],
        "settle_s": 1,
        "verify_timeout_s": 20,
        "cooldown_s": COOLDOWN_S,
        "initial_level": "notify",
    }


class Pair:
    """`page` seems to hang on `base`; they have nothing to do with each other."""

    def __init__(self, lab_hosts, serve):
        self.api = serve.admin
        self.base, self.page = (
            FailingUnit(host, serve, name) for host, name in zip(lab_hosts, ("base", "page"), strict=True)
        )
        for unit in (self.base, self.page):
            self.api.post("/api/healing/rules", rule_about(unit))

    def told(self, unit, before):
        until(lambda: unit.entries(unit.name, before), 30, what=f"an entry about {unit.target}")

    def fail_together(self):
        """One shortly after the other, for longer than a heal of the one is waited for."""
        seen = {unit.name: newest(unit.entries(unit.name)) for unit in (self.base, self.page)}
        for unit in (self.base, self.page):
            unit.fail()
            self.told(unit, seen[unit.name])
        self.base.start("base")
        self.page.start("page")

    def suggested(self):
        rows = self.api.get("/api/healing/suggestions")
        return [row for row in rows if row["category"] == "dependency_candidate"]

    def evidence(self):
        rows = self.api.get("/api/healing/dependencies")["evidence"]
        return [row for row in rows if (row["from"], row["to"]) == (self.page.target, self.base.target)]

    def incident(self):
        """Both fail, `base` alone is healed, and `page` stays down until that is known of it."""
        (known,) = self.evidence()
        before = newest(self.base.entries("base"))
        self.page.fail()
        self.base.fail()
        until(lambda: verified(self.base.entries("base", before)), 60, what="a heal of base")

        def is_judged():
            now = self.evidence()
            return not now or now[0]["stayed"] > known["stayed"]

        until(is_judged, WINDOW_S + 20, what="what the heal says of the dependency")
        self.page.start("page")


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_wrong_dependency_falls_out_within_ten_incidents(lab, server):
    hosts = lab.boot(2)
    try:
        pair = Pair(hosts, server(SETTINGS))
        for _ in range(TOGETHER):
            pair.fail_together()
            if pair.suggested():
                break
        about = until(pair.suggested, 10, what="the suggestion")[0]
        assert (about["about"]["target"], about["about"]["depends_on"]) == (pair.page.target, pair.base.target)
        pair.api.post(f"/api/healing/suggestions/{about['id']}/confirm")
        promote(pair.api, "base")
        incidents = 0
        while pair.evidence():
            pair.incident()
            incidents += 1
            assert incidents <= MOST_INCIDENTS, pair.evidence()
        print(f"out after {incidents} incidents")
        assert len(pair.api.get("/api/audit?action=healing.dependencies.remove")) == 1
    finally:
        lab.remove(*hosts)
