"""One outage, one deed: its targets are healed in waves, one first, and the next wave waits for the verdict."""

from collections import Counter
from contextlib import closing

import pytest

from opsapp.approvals.engine import expire
from opsapp.healing.resources import cases, healing_of
from opsapp.healing.resources.cases import CaseBook
from opsapp.healing.resources.waves import StoredDeed
from opsapp.wire.causes import LOOKS
from tests.engine.healing import Ward
from tests.engine.outage import DOWN, WIDE, Fleet, decide, deeds, ends, fleets, members, sizes, told
from tests.support.hosts import TOOLS, place

HUNDRED = [place(f"h{n}", f"a{n}") for n in range(100)]


@pytest.fixture
def fleet(ward):
    return fleets(ward)


# -- how it goes on, and where it stops


def test_a_heal_that_works_goes_in_waves_of_one_a_tenth_half_and_all(fleet):
    outage = fleet(30).until_quiet()
    assert sizes(outage) == [1, 3, 15, 11]
    assert ends(outage) == {"verified": 30}
    assert sorted(outage.acted) == sorted(outage.state), "each once"


def test_the_next_wave_waits_for_the_verdict_of_the_one_before(fleet):
    outage = fleet(10)
    while not outage.acted:
        outage.step()
    [first] = outage.acted
    outage.until_quiet()
    ended = {entry["target"]: entry["finished_at"] for entry in outage.here.ledger}
    name = f"h{first[1:]}"
    assert [agent_id for agent_id, at in outage.at.items() if agent_id != first and at < ended[name]] == []


def test_a_look_that_says_nothing_new_writes_nothing(fleet, monkeypatch):
    """Of 5,000 that wait each looks once a minute, and the deed has all of them."""
    keep, same = StoredDeed.keep, []

    def noting(stored, change):
        before = [stored.members.get(member.case_id) for member in change.members]
        if (stored.deed, *before) == (change.deed, *change.members):
            same.append(change)
        keep(stored, change)

    monkeypatch.setattr(StoredDeed, "keep", noting)
    outage = fleet(10)
    while not outage.acted:
        outage.step()
    waiting = [case for case in outage.here.cases if case["agent_id"] not in outage.acted]
    outage.here.node.transact(look_now, [case["id"] for case in waiting], outage.here.clock.now())
    outage.here.turn()
    assert ends(outage.until_quiet()) == {"verified": 10}
    assert same == []


def look_now(root, case_ids, now):
    book = healing_of(root).book
    for case_id in case_ids:
        book.schedule(book.find(case_id), now)


def test_a_decision_for_many_is_told_to_some_at_a_time(fleet, monkeypatch):
    """The click itself writes no case, and who goes first is drawn among all of them."""
    outage, schedule, woken = fleet(30, level="approve").until_asked(), CaseBook.schedule, []

    def noting(book, case, due):
        woken.append(case.record.id)
        schedule(book, case, due)

    monkeypatch.setattr(cases, "TOLD_AT_ONCE", 4, raising=False)
    monkeypatch.setattr(CaseBook, "schedule", noting)
    decide(outage)
    assert woken == []
    outage.here.engine.work()
    assert len(woken) == 4
    assert outage.here.hosts.sent == []
    assert ends(outage.until_quiet()) == {"verified": 30}
    assert sizes(outage) == [1, 3, 15, 11]
    first = min(members(outage).values(), key=lambda member: member.draw)
    assert first.wave == 1


def test_what_is_under_way_stands_in_order_whatever_becomes_of_it(fleet):
    """As the older version has to read it: all cases, and in order."""
    outage = fleet(10)
    for _ in range(80):
        outage.step(1.0)
        assert outage.here.node.transact(ranks_kept) == outage.here.node.transact(ranks_read)
    outage.state["a0"]["down"] = 1
    outage.step()
    outage.here.node.transact(lambda root: healing_of(root).move(3600, outage.here.clock.now() + 3600))
    known = outage.here.node.transact(ranks_kept)
    assert known == outage.here.node.transact(ranks_read)
    outage.here.node.transact(cases.rank_open)
    assert outage.here.node.transact(ranks_kept) == known


def ranks_kept(root):
    return list(healing_of(root).book.under_way)


def ranks_read(root):
    records = [case.record for case in healing_of(root).book.all_open()]
    return sorted((not record.acts, record.opened_at, record.id) for record in records)


def test_of_a_hundred_hosts_the_last_is_healed_within_two_and_a_half_times_of_all_at_once(tmp_path_factory):
    """In virtual time, with the time that the action takes to settle by itself: four waves wait for three verdicts."""
    rule = {name: value for name, value in DOWN.items() if name != "settle_s"}

    def last_healed(**own):
        here = Ward(tmp_path_factory.mktemp("ward"), rule | own, places=HUNDRED, brake=WIDE)
        with closing(here):
            outage, begun = Fleet(here.at("execute", "down"), 100), here.clock.now()
            outage.until_quiet()
            assert ends(outage) == {"verified": 100}
            return max(entry["finished_at"] for entry in here.ledger) - begun

    at_once = last_healed(waves="off")
    assert last_healed() <= 2.5 * at_once


@pytest.mark.parametrize("settle_s", [2, 5, 10])
def test_no_time_passes_between_a_verdict_and_the_next_wave(fleet, settle_s):
    """So four waves take four heals, and are 2.5 times as late as all at once where a heal takes as long as the hold
    (docs/adr/111)."""
    outage = fleet(30, rule={**DOWN, "settle_s": settle_s}).until_quiet()
    spans = {}
    for case in outage.here.cases:
        spans.setdefault(case["wave"], []).append((case["began_at"], case["closed_at"]))
    begun, ended = ([{row[n] for row in spans[wave]} for wave in sorted(spans)] for n in (0, 1))
    assert begun[1:] == ended[:-1]
    assert [len(moments) for moments in begun] == [1, 1, 1, 1], "and those of a wave begin together"


def test_of_a_hundred_hosts_a_heal_that_harms_harms_one(fleet):
    watched = {"id": "broken", "condition": "broken == 1", "action": None, "description": "it is broken"}
    outage = fleet(100, "breaks", rules=[watched]).until_quiet()
    assert len(outage.acted) == 1
    assert sum(state["broken"] for state in outage.state.values()) == 1
    reasons = Counter(entry["reason"].partition(":")[0] for entry in outage.here.ledger if entry["rule_id"] == "down")
    assert reasons["wave_stopped"] == 99


def test_a_heal_that_does_not_help_stops_at_the_first_and_is_told_once(fleet):
    outage = fleet(10, "nothing").until_quiet()
    assert len(outage.acted) == 1
    assert ends(outage) == {"withdrawn": 9, "failed": 1}
    assert told(outage) == {"heal.unresolved": 1, "heal.waves": 1}


def test_a_failure_in_a_later_wave_stops_what_has_not_begun(fleet):
    outage = fleet(10)
    while len(outage.acted) < 2:
        outage.step()
    outage.does = "nothing"
    outage.state[outage.acted[1]]["down"] = 1
    outage.until_quiet()
    assert len(outage.acted) == 2
    assert ends(outage) == {"verified": 1, "failed": 1, "withdrawn": 8}


def test_who_goes_first_is_drawn(fleet):
    """By the keyed coin of the case: not the first by name or by arrival."""
    outage = fleet(10).until_quiet()
    coins = {member.target: member.draw for member in members(outage).values()}
    order = sorted(coins, key=coins.get)
    waves = {case["target"]: case["wave"] for case in outage.here.cases}
    assert [waves[target] for target in order] == sorted(waves.values())


def test_a_host_of_which_nobody_hears_any_more_stops_the_deed(fleet):
    """Silence after an act may be its harm: nobody goes on blindly."""
    outage = fleet(10, "hangs").until_quiet()
    assert len(outage.acted) == 1
    assert ends(outage) == {"inconclusive": 1, "withdrawn": 9}
    [reason] = {entry["reason"] for entry in outage.here.ledger if entry["outcome"] == "withdrawn"}
    assert reason.startswith("wave_stopped: nobody can tell whether it has helped h")


def test_one_silent_host_among_many_that_are_well_does_not_stop_it(fleet):
    outage = fleet(30)
    while len(outage.acted) < 4:
        outage.step()
    outage.silent.add(outage.acted[-1])
    outage.until_quiet()
    assert ends(outage) == {"verified": 29, "inconclusive": 1}


def acting(outage):
    return {case["agent_id"] for case in outage.here.cases if case["state"] == "executing"}


def test_what_recovers_while_it_waits_is_left_alone(fleet):
    outage = fleet(10)
    while not outage.acted:
        outage.step()
    well = next(agent_id for agent_id in outage.state if agent_id not in outage.acted)
    outage.state[well]["down"] = 0
    outage.until_quiet()
    assert well not in outage.acted
    assert ends(outage) == {"verified": 9, "withdrawn": 1}
    [reason] = {entry["reason"] for entry in outage.here.ledger if entry["outcome"] == "withdrawn"}
    assert reason == "condition_gone"


def test_what_comes_while_the_deed_is_under_way_goes_last(fleet):
    outage = fleet(10)
    late = ["a0", "a1"]
    outage.silent.update(late)
    while not outage.acted:
        outage.step()
    outage.silent.clear()
    outage.until_quiet()
    waves = {case["agent_id"]: case["wave"] for case in outage.here.cases}
    assert {waves[agent_id] for agent_id in late} == {max(waves.values())}
    assert len(deeds(outage)) == 1


def test_a_single_target_is_no_deed_that_anybody_hears_of(fleet):
    outage = fleet(1).until_quiet()
    assert ends(outage) == {"verified": 1}
    assert told(outage) == {}


def test_a_canary_that_is_not_acted_on_is_replaced(fleet):
    """The condition of the one that was drawn is gone right before its act."""
    outage = fleet(10)
    outage.here.hosts.looks_back = False
    while not acting(outage):
        outage.step()
    [first] = acting(outage)
    for command in outage.here.hosts.sent:
        outage.answered.add(command["command_id"])
        outage.here.hosts.finish("snapshot", status="expired", among=command)
    outage.here.hosts.looks_back = True
    outage.until_quiet()
    assert first not in outage.acted
    assert ends(outage) == {"failed": 1, "verified": 9}


# -- settings


def test_off_heals_all_at_once(fleet):
    outage = fleet(5, waves="off")
    while not outage.acted:
        outage.step()
    assert len(outage.acted) == 5


def test_a_rule_may_say_its_own(fleet):
    outage = fleet(10, rule={**DOWN, "waves": {"first": 2, "growth": [1]}}).until_quiet()
    assert sizes(outage) == [2, 8]


def test_two_rules_on_one_cause_are_two_deeds_and_no_host_is_healed_twice(fleet):
    also = {**DOWN, "id": "also", "condition": "down >= 1", "severity": "info"}
    outage = fleet(5, rules=[also])
    outage.here.at("execute", "also")
    outage.until_quiet()
    assert sorted(outage.acted) == sorted(outage.state)


# -- one request for all


def test_an_outage_asks_once_and_is_told_once(fleet):
    outage = fleet(24, level="approve").until_asked()
    [asked] = outage.here.service.vera.get("/api/approvals").json
    assert asked["subject"] == "24 targets"
    assert {target["target"] for target in asked["plan"]["targets"]} == {f"h{n}" for n in range(24)}
    assert {target["host"] for target in asked["plan"]["targets"]} == set(outage.state)
    assert told(outage) == {"heal.approval": 1}
    assert outage.acted == []
    decide(outage)
    outage.until_quiet()
    assert sizes(outage) == [1, 2, 12, 9]
    assert ends(outage) == {"verified": 24}
    assert told(outage) == {"heal.waves": 1}


def test_hosts_that_report_one_after_the_other_are_asked_about_together(fleet):
    outage = fleet(12, level="approve")
    outage.silent.update(outage.state)
    for agent_id in sorted(outage.state):
        outage.silent.discard(agent_id)
        outage.step(1.2)
    outage.until_asked()
    [asked] = outage.here.service.vera.get("/api/approvals").json
    assert len(asked["plan"]["targets"]) == 12


def test_a_host_that_has_not_yet_named_the_cause_is_asked_about_with_the_others(ward):
    rule = {**DOWN, "condition": 'service.x.state == "failed"',
            "action": {"type": "restart_service", "params": {"service": "x"}}}  # fmt: skip
    hosts = ("a0", "a1", "a2")
    places = [place(f"h{agent_id}", agent_id, usable=TOOLS | {LOOKS}) for agent_id in hosts]
    here = ward(rule, places=places, brake=WIDE).at("approve", rule["id"])

    def step(*answering):
        here.clock.advance(0.5)
        looks = [look for look in here.hosts.sent if look["answer"] is None and look["agent_id"] in answering]
        for look in looks:
            here.hosts.finish("look", among=look)
        for agent_id in hosts:
            here.report(f"agent:{agent_id}", service__x__state="failed")
        here.turn()
        return here.service.vera.get("/api/approvals").json

    while len(here.hosts.sent) < len(hosts):
        assert step() == []
    assert [step("a0", "a1") for _ in range(6)] == [[]] * 6
    asked = next(asked for _ in range(10) if (asked := step(*hosts)))
    assert [len(request["plan"]["targets"]) for request in asked] == [3]


def test_what_comes_after_the_request_is_not_covered_by_it(fleet):
    outage = fleet(4, level="approve")
    outage.silent.add("a3")
    outage.until_asked()
    decide(outage)
    outage.silent.clear()
    for _ in range(40):
        outage.step()
        if outage.here.service.vera.get("/api/approvals").json:
            break
    [second] = outage.here.service.vera.get("/api/approvals").json
    assert (second["subject"], "targets" in second["plan"]) == ("h3", False)
    while len(outage.acted) < 3:
        outage.step()
    assert "a3" not in outage.acted
    decide(outage)
    outage.until_quiet()
    assert ends(outage) == {"verified": 4}


def test_a_rejected_request_ends_all_and_tells_nobody(fleet):
    outage = fleet(4, level="approve").until_asked()
    told(outage)
    decide(outage, "reject")
    outage.until_quiet()
    assert ends(outage) == {"rejected": 4}
    assert told(outage) == {}


def test_a_request_that_nobody_decides_is_told_once(fleet):
    outage = fleet(4, level="approve").until_asked()
    told(outage)
    outage.here.clock.advance(3601)
    outage.here.node.transact(expire, outage.here.clock.now())
    outage.until_quiet()
    assert ends(outage) == {"expired": 4}
    assert told(outage) == {"heal.waves": 1}


def test_one_that_recovers_before_the_click_is_not_acted_on_and_the_rest_is(fleet):
    outage = fleet(4, level="approve").until_asked()
    outage.state["a2"]["down"] = 0
    outage.step()
    decide(outage)
    outage.until_quiet()
    assert sorted(outage.acted) == ["a0", "a1", "a3"]


def test_the_targets_of_a_request_are_frozen(fleet):
    """What a target's plan has become since does not run under it."""
    outage = fleet(4, level="approve").until_asked()
    decide(outage)
    outage.here.hosts.here[2] = place("h2", "a9")  # its name belongs to another agent now
    outage.until_quiet()
    assert "a2" not in outage.acted
    assert "a9" not in outage.acted
