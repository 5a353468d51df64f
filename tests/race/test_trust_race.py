"""Trust under many hands: people promote and demote while outcomes arrive; nothing is lost or counted twice."""

import random
import threading

from opsapp.healing.config import HealingSettings
from opsapp.healing.records import RuleSettings
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.rules import put_rule
from opsapp.healing.stages import trust as governor
from opsapp.wire.records import made
from tests.support.app import Service

RULE = {"condition": "cpu_percent > 90", "action": {"type": "clear_cache"}, "initial_level": "notify",
        "trust_ceiling": "approve"}  # fmt: skip
HANDS, TURNS = 4, 20


def test_every_move_and_every_outcome_counts_once(tmp_path):
    service = Service(tmp_path)
    now = service.clock.now()
    service.transact(
        lambda root: put_rule(root, "cpu", made(RuleSettings, RULE), source="api", now=now).fields["condition"]
    )
    counted = {"promote": 0, "demote": 0, "verified": 0}
    lock = threading.Lock()

    def change(root, what):
        """One hand's move, as the views and the pipeline make it; whether it was allowed."""
        state = healing_of(root)["trust"]["cpu"]
        try:
            if what == "promote":
                moved = governor.promote(state.trust, "approve", now)
            elif what == "demote":
                moved = governor.demote(state.trust, "notify", now)
            else:
                moved, _ = governor.recorded(state.trust, "verified", now, HealingSettings())
        except governor.LevelRefused:
            return False
        state.become(root, moved, cause=what, now=now)
        return True

    def hand(seed):
        dice = random.Random(seed)
        for _ in range(TURNS):
            what = dice.choice(list(counted))
            if service.transact(change, what):
                with lock:
                    counted[what] += 1

    hands = [threading.Thread(target=hand, args=(seed,)) for seed in range(HANDS)]
    for one in hands:
        one.start()
    for one in hands:
        one.join()
    trust = service.transact(lambda root: healing_of(root)["trust"]["cpu"].trust)
    service.close()
    assert (trust.promotion_count, trust.demotion_count) == (counted["promote"], counted["demote"])
    assert trust.promotion_count - trust.demotion_count == (trust.current_level == "approve")
    assert counted["verified"] >= trust.verified  # each move begins the count anew
    assert trust.current_level in ("notify", "approve")
