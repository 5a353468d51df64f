"""`opsapp doctor --trace`: a ledger that is as the pipeline wrote it has no finding; whatever is done to it has one."""

import copy
import random
import shutil

import pytest

from opsapp.cli import main
from opsapp.healing.config import HealingSettings
from opsapp.healing.engine.trace import trace
from opsapp.healing.logic import chain
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.ledger import LedgerEntry
from opsapp.runtime.secrets.chainkey import chain_key
from tests.engine.healing import NGINX
from tests.support.hosts import place

FAILED, WELL = {"service__nginx__state": "failed"}, {"service__nginx__state": "active"}
CHAIN = {
    "id": "nginx",
    "condition": NGINX["condition"],
    "settle_s": 1,
    "verify_timeout_s": 20,
    "escalation_chain": [{"action": "service_reset_failed", "params": {}}, {"action": "restart_service", "params": {}}],
}


@pytest.fixture
def lived(ward):
    """A ledger with a chain of two steps, heals that helped, one that people refused, one that is under way."""
    here = ward(CHAIN, places=[place()]).at("execute")
    here.report(**FAILED).turn().turn(6)
    here.heal(**FAILED)
    here.heal(**WELL)
    here.pass_time(400, step=50, **WELL)
    here.report(**FAILED).turn().turn(6)
    here.heal(**WELL)
    here.pass_time(400, step=50, **WELL)
    here.at("notify").report(**FAILED).turn().turn(6)
    here.pass_time(400, step=50, **WELL)
    here.at("approve").report(**FAILED).turn().turn(6)
    pending = here.service.ada.get("/api/approvals").json[0]
    here.service.ada.post_json(f"/api/approvals/{pending['request_id']}/reject", {"comment": "no"})
    here.turn(1)
    here.pass_time(400, step=50, **WELL)
    here.at("execute").report(**FAILED).turn().turn(6)
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    return here


def found(here):
    return here.node.transact(lambda root: trace(root, chain_key(root), here.node.config[HealingSettings]))


def test_an_untouched_ledger_has_no_finding(lived):
    outcomes = [entry["outcome"] for entry in lived.ledger]
    assert outcomes == ["failed", "verified", "verified", "notified", "rejected", None]
    assert found(lived) == []


def test_what_an_older_version_did_not_write_of_a_case_is_no_finding(lived):
    """Its cases did not say which steps were tried."""

    def forget(root):
        for case in healing_of(root).book.cases.values():
            case.fields = {name: value for name, value in case.fields.items() if name != "tried"}
            case._v_record = None

    lived.node.transact(forget)
    assert found(lived) == []


def final(ledger, dice, outcome=None):
    entries = [entry for entry in ledger.entries.values() if entry.fields["state"] == "final"]
    return dice.choice([entry for entry in entries if outcome in (None, entry.fields["outcome"])])


def changed(of=None, **fields):
    """Somebody edits an entry, and (`signed`) has the key to make the chain anew."""

    def change(ledger, dice):
        entry = final(ledger, dice, of)
        entry.fields = {**entry.fields, **fields}

    return change


def removed(ledger, dice):
    del ledger.entries[final(ledger, dice).fields["id"]]


def removed_from_the_chain(ledger, dice):
    del ledger.order[dice.randint(1, ledger.links())]


def cut_off(ledger, dice):
    last = ledger.order.pop(ledger.links())
    ledger.head = ledger.entries[last].fields["prev_hash"]
    del ledger.entries[last]


def reordered(ledger, dice):
    one, other = dice.sample(range(1, ledger.links() + 1), 2)
    ledger.order[one], ledger.order[other] = ledger.order[other], ledger.order[one]


def steps_swapped(ledger, dice):
    failed, verified = ledger.entries[1], ledger.entries[2]
    failed.fields, verified.fields = {**verified.fields, "id": 1}, {**failed.fields, "id": 2}


def duplicated(ledger, dice):
    ledger.order[ledger.links() + 1] = final(ledger, dice).fields["id"]


def copied(ledger, dice):
    fields = copy.deepcopy(final(ledger, dice, "verified").fields)
    number = ledger.entries.maxKey() + 1
    ledger.entries[number] = LedgerEntry({**fields, "id": number})
    ledger.order[ledger.links() + 1] = number


def intent_left_open(ledger, dice):
    number = ledger.entries.maxKey() + 1
    fields = {**ledger.entries[number - 1].fields, "id": number, "case_id": "ffff"}
    ledger.entries[number] = LedgerEntry(fields)
    ledger.open.insert(number)


def forged_heals(ledger, dice):
    """Many more than an hour may have."""
    model = final(ledger, dice, "verified").fields
    for _ in range(12):
        number = ledger.entries.maxKey() + 1
        ledger.entries[number] = LedgerEntry({**model, "id": number, "case_id": f"f{number}"})
        ledger.order[ledger.links() + 1] = number


def signed(mutation):
    """Done by somebody who has the key, and makes every link anew."""

    def change(ledger, dice, key):
        mutation(ledger, dice)
        ledger.order.update({at: number for at, number in enumerate(ledger.order.values(), 1)})
        previous, links = ledger.mark.head, ledger.mark.links
        for at in range(links + 1, ledger.links() + 1):
            entry = ledger.entries[ledger.order[at]]
            fields = {**entry.fields, "prev_hash": previous}
            entry.fields = {**fields, "hash": chain.link(previous, fields, key)}
            previous = entry.fields["hash"]
        ledger.head, ledger.ended = previous, chain.signed_end(key, ledger.links(), previous)

    return change


MUTATIONS = {
    "an outcome is edited": changed(outcome="failed", reason="as it pleases"),
    "a reason is edited": changed(reason="as it pleases"),
    "an entry is removed": removed,
    "an entry is taken out of the chain": removed_from_the_chain,
    "the end is cut off": cut_off,
    "the chain is reordered": reordered,
    "a link is there twice": duplicated,
    "an entry is copied": copied,
    "an intent has no outcome": intent_left_open,
}
SIGNED = {
    "an outcome is edited, signed": changed("failed", outcome="verified", verified=1),
    "verified without an action": changed("verified", action_success=0),
    "verified and never executed": changed("verified", executed=False),
    "executed after a refusal": changed("rejected", executed=True, action_success=1),
    "executed at a level that forbids it": changed("notified", executed=True, action_type="restart_service"),
    "executed without its approval": changed("verified", trust_level="approve"),
    "executed at too low a level": changed("verified", trust_level="notify"),
    "no intent": changed("verified", action_type=""),
    "a rollback that never was": changed("failed", outcome="rolled_back"),
    "an outcome that does not exist": changed("notified", outcome="cured"),
    "it ended before it began": changed("verified", finished_at=1),
    "steps in the wrong order": steps_swapped,
    "two outcomes": changed("failed", events=1),
    "beyond the budget": forged_heals,
    "the verdict is not the outcome": changed("failed", verified=1),
    "it rolls back what is not there": changed("notified", action_type="rollback", rolls_back=99),
}


class Undone(Exception):
    """Takes what was found out of a transaction that is not committed."""


def found_after(here, name, seed=0):
    """What is found once this was done to the ledger, of which nothing is kept."""

    def change(root):
        ledger, key, dice = healing_of(root)["ledger"], chain_key(root), random.Random(f"{name}{seed}")
        if name in MUTATIONS:
            MUTATIONS[name](ledger, dice)
        else:
            signed(SIGNED[name])(ledger, dice, key)
        raise Undone(trace(root, key, here.node.config[HealingSettings]))

    with pytest.raises(Undone) as undone:
        here.node.transact(change)
    return undone.value.args[0]


def test_every_mutation_is_found(lived):
    names = [*MUTATIONS, *SIGNED]
    assert len(names) >= 20
    assert [(name, seed) for name in names for seed in range(5) if not found_after(lived, name, seed)] == []
    assert found(lived) == [], "nothing of that was kept"


def test_what_was_signed_with_the_key_is_found_without_the_help_of_the_chain(lived):
    told = {name: [broken.what for broken in found_after(lived, name)] for name in SIGNED}
    assert [name for name, lines in told.items() if all(line.startswith("the chain") for line in lines)] == []


def test_the_doctor_says_which_entry_it_is(lived, capsys, tmp_path):
    def forge(root):
        entry = healing_of(root)["ledger"].entries[3]
        entry.fields = {**entry.fields, "trust_level": "notify"}

    def doctor(place):
        capsys.readouterr()
        main(["doctor", "--trace", "--data", str(place)])
        return [line.partition(": ")[2] for line in capsys.readouterr().out.splitlines() if "  trace: " in line]

    def copied(name):
        (tmp_path / name).mkdir(mode=0o700)
        for path in tmp_path.iterdir():
            if path.is_file() and not path.name.endswith(".lock"):
                shutil.copy2(path, tmp_path / name)
        return tmp_path / name

    assert doctor(tmp_path) == ["the store is not there or in use: stop the service, or take a copy of it"]
    assert doctor(copied("sound")) == ["the ledger and the cases are as the pipeline writes them"]
    lived.node.transact(forge)
    assert doctor(copied("forged")) == [
        "ledger entry 3: it was executed at the level notify",
        "ledger entry 3: the chain: the entry was changed, or what stood before it",
    ]
