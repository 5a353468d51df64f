"""A fleet of hosts that fail together, and whatever a heal does to them."""

from collections import Counter

from opsapp.healing.resources import healing_of
from opsapp.notify.resources import inbox
from tests.support.hosts import place

DOWN = {
    "id": "down",
    "condition": "down == 1",
    "action": {"type": "clear_cache"},
    "settle_s": 1,
    "verify_timeout_s": 20,
    "cooldown_s": 86400,
}
WIDE = {"max_heals_per_hour": {"fleet": 999, "site": 999, "rule": 999}, "max_unhealthy_percent": 100}


class Fleet:
    """Hosts that are down, and what a heal does to them: `mends`, `nothing`, `breaks` (they are broken too), `hangs`
    (nobody hears of them any more). Without an entry of its own a host does what the fleet does."""

    def __init__(self, here, count, does="mends", **own):
        self.here, self.does, self.own = here, does, own
        self.state = {f"a{n}": {"down": 1, "broken": 0} for n in range(count)}
        self.silent, self.acted, self.answered = set(), [], set()
        self.at = {}  # host -> when its heal acted

    def report(self):
        for agent_id in self.state.keys() - self.silent:
            self.here.report(f"agent:{agent_id}", **self.state[agent_id])

    def step(self, seconds=0.5):
        self.here.clock.advance(seconds)
        self.answer()
        self.report()
        self.here.turn()

    def answer(self):
        """Each command is performed once, whoever asks again for its answer."""
        for command in self.here.hosts.sent:
            if command["command_id"] in self.answered or command["answer"] is not None:
                continue
            self.answered.add(command["command_id"])
            if command["params"]["phase"] == "execute":
                self.act(command["agent_id"])
            self.here.hosts.finish(command["params"]["phase"], among=command, snapshot={"kind": "unit", "state": {}})

    def act(self, agent_id):
        self.acted.append(agent_id)
        self.at[agent_id] = self.here.clock.now()
        does = self.own.get(agent_id, self.does)
        if does == "mends":
            self.state[agent_id]["down"] = 0
        elif does == "breaks":
            self.state[agent_id]["broken"] = 1
        elif does == "hangs":
            self.silent.add(agent_id)

    def until_quiet(self, steps=600):
        """Until every case that there is has come to its end."""
        for _ in range(steps):
            self.step()
            cases = self.here.cases
            if cases and all(case["state"] == "closed" for case in cases):
                return self
        raise AssertionError("a case is stuck")

    def until_asked(self, steps=40):
        for _ in range(steps):
            self.step()
            if self.here.service.vera.get("/api/approvals").json:
                return self
        raise AssertionError("nobody is asked")


def fleets(ward):
    """Makes a fleet whose hosts are all down."""

    def make(count, does="mends", level="execute", rules=(), rule=DOWN, own=(), **healing):
        places = [place(f"h{n}", f"a{n}") for n in range(count)]
        here = ward(rule, *rules, places=places, **{"brake": WIDE, **healing}).at(level, rule["id"])
        return Fleet(here, count, does, **dict(own))

    return make


def sizes(outage):
    """How many went in each wave, in the order of the waves."""
    rows = Counter(case["wave"] for case in outage.here.cases if case["agent_id"] in outage.acted)
    return [rows[number] for number in sorted(rows)]


def ends(outage):
    return Counter(entry["outcome"] for entry in outage.here.ledger)


def told(outage):
    return Counter(row.kind for row in outage.here.node.transact(inbox.take, 10_000))


def deeds(outage):
    return outage.here.node.transact(lambda root: [stored.deed for stored in healing_of(root).waves.deeds.values()])


def members(outage):
    """Of the only deed, by case."""
    [kept] = outage.here.node.transact(
        lambda root: [dict(stored.members) for stored in healing_of(root).waves.deeds.values()]
    )
    return kept


def decide(outage, how="approve", who="otto"):
    [pending] = outage.here.service.vera.get("/api/approvals").json
    outage.here.service.client(who).post_json(f"/api/approvals/{pending['request_id']}/{how}", {})
    return pending
