"""The brake counts cases, and the hosts that heal alone share one limit."""

import pytest

from opsapp.agents.engine import policies_of
from opsapp.agents.engine.lifecycle import create
from opsapp.healing.config import HealingSettings
from opsapp.healing.engine import offline_policies, trace
from opsapp.healing.engine.inventory import Inventory
from opsapp.healing.resources import healing_of
from opsapp.runtime.secrets.chainkey import chain_key
from tests.engine.healing import NGINX
from tests.support.hosts import place

STEPS = ("flush_dns", "log_rotate", "journal_vacuum", "clear_cache")
CHAIN = {"id": "nginx", "condition": "down == 1", "escalation_chain": [{"action": name} for name in STEPS]}
LENIENT = {"breaker": {"failures": 100}, "change": {"threshold": 1e9}}


def limits(**rates):
    return {"max_heals_per_hour": {"fleet": 60, "site": 60, "rule": 60, "target": 60, **rates}}


def case_fails(here, name):
    """A failure on a host that no step mends; how many of the steps were done."""
    done, subject = 0, f"agent:{name}"
    here.report(subject, down=1).turn().turn(5)
    while any(command["answer"] is None and command["params"]["phase"] == "snapshot" for command in here.hosts.sent):
        here.hosts.finish("snapshot", snapshot={"kind": "none", "state": {}})
        here.turn(1)
        here.hosts.finish("execute", handler="sh")
        here.turn(1).turn(30)
        here.report(subject, down=1).turn().until_judged(subject, down=1)
        done += 1
    here.report(subject, down=0).turn(1).turn(60)
    return done


@pytest.mark.parametrize("scope", ["fleet", "rule"])
def test_a_case_of_four_steps_counts_once(ward, scope):
    places = [place(name, name, usable=None) for name in "abc"]
    here = ward(CHAIN, places=places, brake=limits(**{scope: 2}), **LENIENT).at("execute")
    assert [case_fails(here, name) for name in "abc"] == [4, 4, 0]
    said = f"brake: 2 heals within an hour, the limit for one {scope} is 2"
    assert [entry["reason"] for entry in here.ledger if entry["outcome"] == "notified"] == [said]
    settings = here.node.config[HealingSettings]
    assert here.node.transact(lambda root: list(trace.trace(root, chain_key(root), settings))) == []


def test_the_last_case_that_the_limit_allows_takes_all_of_its_steps(ward):
    here = ward(CHAIN, places=[place("a", "a", usable=None)], brake=limits(fleet=1), **LENIENT).at("execute")
    assert case_fails(here, "a") == 4


def test_a_limit_that_is_set_to_nothing_stops_a_case_between_its_steps(ward):
    here = ward(CHAIN, places=[place("a", "a", usable=None)], brake=limits(), **LENIENT).at("execute")
    here.report("agent:a", down=1).turn().turn(5)
    here.configure(brake=limits(fleet=0))
    here.hosts.finish("snapshot", snapshot={"kind": "none", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", "failed", exit_code=1)
    here.turn(1)
    assert here.hosts.phases() == ["snapshot", "execute"]
    assert here.ledger[-1]["reason"] == "brake: 0 heals within an hour, the limit for one fleet is 0"


# -- alone ------------------------------------------------------------------------------------------------------------


class Alone:
    """Hosts that take what they are given while they are heard, and hold it until it expires."""

    def __init__(self, here):
        self.here = here
        self.holds = {}
        here.hosts.here = []

    def join(self, count):
        def made(root):
            return [create(root, f"new-{n}", [])[0] for n in range(count)]

        ids = self.here.node.transact(made)
        self.here.hosts.here = [*self.here.hosts.here, *(place(f"box-{one}", one) for one in ids)]
        return self.look()

    def all_leave(self):
        self.here.hosts.here = [host._replace(online=False) for host in self.here.hosts.here]
        return self

    def look(self):
        here = self.here
        inventory = Inventory(here.hosts.here)
        offline_policies.step(here.node, inventory, {})
        for host in inventory:
            if host.online:
                self.holds[host.agent_id] = here.node.transact(policies_of, host.agent_id)
        return self

    @property
    def budgets(self):
        """What each may do within an hour: of the hosts that hold policies which have not expired."""
        now = self.here.clock.now()
        held = (bundle for bundle in self.holds.values() if bundle is not None and bundle.expires_at > now)
        return sorted((bundle.budget for bundle in held if bundle.policies), reverse=True)


@pytest.fixture
def alone(ward):
    def make(**rates):
        return Alone(ward(NGINX, brake=limits(**rates)).at("execute"))

    return make


@pytest.mark.parametrize(
    ("hosts", "fleet", "budgets"), [(3, 12, [4, 4, 4]), (5, 12, [3, 3, 2, 2, 2]), (30, 12, [1] * 12), (2, 0, [])]
)
def test_the_shares_of_all_hosts_come_to_the_limit_of_the_fleet(alone, hosts, fleet, budgets):
    assert alone(fleet=fleet).join(hosts).budgets == budgets


def test_no_host_may_do_more_than_a_rule_may(alone):
    assert alone(fleet=60, rule=10).join(2).budgets == [10, 10]


def test_who_may_is_drawn_and_stays_drawn(alone):
    some = alone(fleet=3).join(9)
    held = {name: bundle and bundle.version for name, bundle in some.holds.items()}
    assert {name: bundle and bundle.version for name, bundle in some.look().holds.items()} == held
    some.here.restart()
    some.here.node.registry.pop(offline_policies.KEY)
    assert {name: bundle and bundle.version for name, bundle in some.look().holds.items()} == held


def test_hosts_that_are_away_with_their_share_leave_nothing_to_those_that_come(alone):
    """What a host was given cannot be taken back while it is away: until that expires it counts."""
    some = alone(fleet=6).join(6).all_leave()
    assert some.join(60).budgets == [1] * 6
    assert not any(some.holds[host.agent_id] for host in some.here.hosts.here if host.online)
    some.here.clock.advance(some.here.node.config[HealingSettings].offline_policies.expires_s + 1)
    some.look()
    assert 1 <= sum(some.budgets) <= 6


def test_hosts_that_share_with_those_that_come_never_hold_too_much_together(alone):
    some, most = alone(fleet=7), []
    for count in (1, 2, 5, 9):
        some.join(count)
        most.append(sum(some.budgets))
        for _ in range(3):
            some.here.clock.advance(60)
            most.append(sum(some.look().look().budgets))
    assert (max(most), most[-1]) == (7, 7)


def test_a_share_of_an_older_version_is_known(alone):
    """It gave every host one heal at least, and remembered that nowhere else than in what it gave."""
    some = alone(fleet=6).join(6)
    some.here.node.transact(lambda root: setattr(healing_of(root), "shares", None))
    some.here.node.registry.pop(offline_policies.KEY)
    some.all_leave().join(3)
    assert sum(some.budgets) == 6
