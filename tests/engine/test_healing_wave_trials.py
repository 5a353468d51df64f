"""A wave with waiting hosts is a trial: those that went beside those that waited, measured anew at one moment."""

import pytest

from opsapp.healing.engine import world
from opsapp.healing.logic.lift import Arm, WaveSums
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.trials import Healed
from opsapp.runtime.secrets.chainkey import keyed_draw
from tests.engine.outage import decide, deeds, ends, fleets, members, sizes
from tests.engine.test_healing_waves_shown import page

TAKES_S = 6.0  # what heals of the rule have taken in the past
HEAL_S = 2.0  # what one takes here, from the act to the verdict, at most


@pytest.fixture
def fleet(ward, monkeypatch):
    """Hosts that fail together under a rule whose heals have been timed. A coin that falls has the heal done."""
    toss = world._coin
    monkeypatch.setattr(world, "_coin", lambda root, case_id: 0.5 + toss(root, case_id) / 2)
    made = fleets(ward)

    def make(count, does="mends", takes=TAKES_S, **given):
        outage = made(count, does, **{"holdout": {"share": 0.1}, **given})
        if takes:
            outage.here.node.transact(note, outage.here.trust("down").definition, takes)
        return outage

    return make


def note(root, definition, takes):
    healing_of(root).trials.durations_of("down", definition).took(Healed(takes, takes))


def compared(outage):
    """The waves that are trials just now."""
    return outage.here.node.transact(lambda root: [wave for _, wave in healing_of(root).trials.compared()])


def queue(outage):
    return outage.here.node.transact(lambda root: healing_of(root).trials.coins_of("down").tossed)


def waves(outage):
    return outage.here.trust("down").waves


def until_open(outage, steps=60):
    """Until a wave has opened that is a trial."""
    for _ in range(steps):
        outage.step()
        if compared(outage):
            return compared(outage)[0]
    raise AssertionError("no wave is a trial")


def until_judged(outage, steps=60):
    """Until nobody waits for what the wave shows that is a trial now."""
    [wave] = compared(outage)
    for _ in range(steps):
        outage.step()
        if wave.opened_at not in [other.opened_at for other in compared(outage)]:
            return waves(outage)
    raise AssertionError("the wave is never judged")


def sides(outage, wave):
    """The agents of those that went, and of those that waited."""
    agents = {case["id"]: case["agent_id"] for case in outage.here.cases}
    return [[agents[host.case_id] for host in wave.hosts if host.went is went] for went in (True, False)]


def test_every_wave_with_waiting_hosts_is_one_trial(fleet):
    outage = fleet(30).until_quiet()
    assert (sizes(outage), ends(outage)) == ([1, 3, 15, 11], {"verified": 30})
    known = outage.here.trust("down")
    assert (known.waves, known.treated, known.control) == (WaveSums(3, 3.0, 0.0), Arm(), Arm())
    assert sum(known.bets.wave_hours.n) == 3, "each counts at its hour"
    assert (compared(outage), queue(outage)) == ([], ())
    answer = outage.here.service.vera.get("/api/healing/lift?rule_id=down").json
    assert answer["waves"] == {"n": 3, "treated": 3, "alone": 0, "open": 0}
    assert answer["lift"] == 1


def test_what_is_compared_is_committed_before_anything_is_done(fleet):
    outage = fleet(10)
    wave = until_open(outage)
    assert outage.acted == []
    went, waits = sides(outage, wave)
    [case_id] = [case["id"] for case in outage.here.cases if case["agent_id"] == waits[0]]
    vera = outage.here.service.vera
    assert vera.get(f"/api/healing/cases/{case_id}").json["wave"]["compared_at"] == int(wave.moment)
    assert vera.get("/api/healing/lift?rule_id=down").json["waves"]["open"] == 1
    assert "Until then those that went are compared" in page(outage, f"/healing/cases/{case_id}", "#next")
    assert (len(went), len(waits)) == (1, 9)
    assert wave.moment == wave.opened_at + TAKES_S
    [coin] = queue(outage)
    assert (coin.open, coin.draw) == (True, None)
    outage.step()
    outage.step()
    assert outage.acted == went


def test_no_wave_opens_before_the_moment_whatever_is_well(fleet):
    outage = fleet(10, takes=15.0)
    wave = until_open(outage)
    while outage.here.clock.now() + 0.5 <= wave.moment:
        outage.step()
    assert len(outage.acted) == 1
    assert ends(outage)["verified"] == 1
    assert ends(outage.until_quiet()) == {"verified": 10}


def test_no_coin_falls_for_who_goes_in_a_trial(fleet, monkeypatch):
    """A coin that falls would leave everybody alone."""
    outage = fleet(10, holdout={"share": 0.5}, trial={"share": 0.5})
    monkeypatch.setattr(world, "_coin", lambda root, case_id: int(case_id[:6], 16) / 2**26)
    outage.until_quiet()
    assert {case["left_until"] for case in outage.here.cases} == {None}
    assert {case["arm"] for case in outage.here.cases} == {None}
    assert waves(outage).n > 1


def test_who_recovers_while_it_waits_counts_for_those_that_wait(fleet):
    outage = fleet(5)
    _, waits = sides(outage, until_open(outage))
    outage.state[waits[0]]["down"] = 0
    assert until_judged(outage) == WaveSums(1, 1.0, 0.25)


def test_only_what_is_measured_since_the_moment_counts(fleet):
    """Both were well once; neither is heard again before its answer is no longer waited for."""
    outage = fleet(5)
    wave = until_open(outage)
    went, waits = sides(outage, wave)
    outage.state[waits[0]]["down"] = 0
    while outage.here.clock.now() + 0.5 < wave.moment:
        outage.step()
    outage.silent.update([went[0], waits[0]])
    outage.state[waits[1]]["down"] = 0
    assert until_judged(outage) == WaveSums(1, 0.0, 0.25)


def test_who_was_not_heard_is_asked_at_the_moment(fleet):
    outage = fleet(3)
    wave = until_open(outage)
    _, waits = sides(outage, wave)
    outage.silent.update(waits)
    while outage.here.clock.now() < wave.moment:
        outage.step()
    assert {f"agent:{agent_id}" for agent_id in waits} <= {subject for subject, _ in outage.here.hosts.rechecked}


def test_a_wave_of_which_nobody_is_heard_says_nothing_and_holds_nobody_up(fleet):
    outage = fleet(5)
    wave = until_open(outage)
    while outage.here.clock.now() + 0.5 < wave.moment:
        outage.step()
    outage.silent.update(outage.state)
    assert until_judged(outage) == WaveSums()
    assert [coin for coin in queue(outage) if not coin.open] == []
    outage.silent.clear()
    assert ends(outage.until_quiet())["verified"] == 5


def test_a_heal_that_does_nothing_is_compared_although_its_deed_has_stopped(fleet):
    """To drop it would be a choice after the draw."""
    outage = fleet(5, "nothing")
    _, waits = sides(outage, until_open(outage))
    outage.state[waits[0]]["down"] = 0
    outage.until_quiet()
    [deed] = deeds(outage)
    assert deed.stopped
    if compared(outage):
        until_judged(outage)
    assert (waves(outage), queue(outage)) == (WaveSums(1, 0.0, 0.25), ())


def test_where_people_have_worked_meanwhile_it_says_nothing(fleet):
    outage = fleet(5)
    wave = until_open(outage)
    _, waits = sides(outage, wave)
    outage.here.hosts.interventions.append((f"agent:{waits[0]}", wave.opened_at + 1))
    assert until_judged(outage) == WaveSums()
    assert [coin for coin in queue(outage) if not coin.open] == []


def test_until_a_heal_was_timed_the_first_wave_has_a_coin_and_no_trial(fleet):
    outage = fleet(5, takes=0)
    while not outage.acted:
        outage.step()
    assert compared(outage) == []
    outage.until_quiet()
    assert (outage.here.trust("down").treated, outage.here.trust("down").control) == (Arm(1, 1), Arm())
    assert waves(outage).n == len(sizes(outage)) - 2, "the heal of the first wave has timed the others"


def test_without_trials_no_wave_is_one(fleet):
    outage = fleet(5, holdout={"share": 0}).until_quiet()
    assert (waves(outage), queue(outage)) == (WaveSums(), ())


def test_without_the_stores_key_nothing_is_drawn_and_the_case_says_so(fleet, monkeypatch):
    """What is drawn with no key is known beforehand to everybody who knows a case's id."""
    monkeypatch.setattr(world, "_coin", lambda root, case_id: keyed_draw(b"", case_id))
    outage = fleet(10).until_quiet()
    assert (ends(outage), waves(outage).n) == ({"verified": 10}, 0)
    told = [case["id"] for case in outage.here.cases if any(line.startswith("no trial: ") for line in case["why"])]
    assert len(told) == 1, "the one that went first: a coin would have fallen for it"


def test_who_came_later_is_not_compared_with_who_was_there(fleet):
    outage = fleet(12)
    late = ["a0", "a1", "a2"]
    outage.silent.update(late)
    first = until_open(outage)
    outage.silent.clear()
    until_judged(outage)
    went, waits = sides(outage, first)
    assert not {*went, *waits} & {*late}
    while any(member.waits for member in members(outage).values()):
        outage.step()
        for wave in compared(outage):
            went, waits = sides(outage, wave)
            assert (set(went) <= set(late)) == (set(waits) <= set(late))


def test_an_outage_that_people_approve_is_compared_too(fleet):
    outage = fleet(6, level="approve").until_asked()
    decide(outage)
    outage.until_quiet()
    assert ends(outage) == {"verified": 6}
    assert waves(outage).n == len(sizes(outage)) - 1


def steps_until_healed(outage, most=200):
    """Of half a second each, until the last host is well and nothing is under way."""
    for steps in range(1, most):
        outage.step()
        if len(outage.acted) == len(outage.state) and all(case["state"] == "closed" for case in outage.here.cases):
            return steps
    raise AssertionError("not all are healed")


AT_ONCE = 16  # steps without waves, the hold of five seconds included


def test_without_waves_a_hundred_hosts_are_healed_at_once(fleet):
    assert steps_until_healed(fleet(100, waves="off")) == AT_ONCE


def test_with_waves_that_are_trials_a_hundred_hosts_are_healed_within_two_and_a_half_times_as_long(fleet):
    outage = fleet(100, takes=HEAL_S)
    assert 2 * steps_until_healed(outage) <= 5 * AT_ONCE
    assert (ends(outage), waves(outage)) == ({"verified": 100}, WaveSums(3, 3.0, 0.0))


def test_where_heals_have_become_faster_too(fleet):
    """Only the first wave waits for as long as heals used to take: 2.9 times as long when each did."""
    outage = fleet(100, takes=0.0)
    for _ in range(20):
        outage.here.node.transact(note, outage.here.trust("down").definition, 6.0)
    assert 2 * steps_until_healed(outage) <= 5 * AT_ONCE
    assert (ends(outage), waves(outage).n) == ({"verified": 100}, 3)


def test_of_a_hundred_hosts_a_heal_that_harms_harms_one(fleet):
    watched = {"id": "broken", "condition": "broken == 1", "action": None, "description": "it is broken"}
    outage = fleet(100, "breaks", rules=[watched]).until_quiet()
    assert len(outage.acted) == 1
    assert sum(state["broken"] for state in outage.state.values()) == 1


@pytest.mark.parametrize("gone", ["before the moment", "after it"])
def test_a_kill_leaves_one_trial_with_one_outcome(fleet, gone):
    outage = fleet(5)
    wave = until_open(outage)
    outage.step()
    outage.here.restart()
    assert (compared(outage), len(queue(outage))) == ([wave], 1)
    if gone == "after it":
        outage.here.clock.advance(60)
    judged = until_judged(outage)
    assert judged == (WaveSums(1, 1.0, 0.0) if gone == "before the moment" else WaveSums())
    outage.here.restart()
    outage.until_quiet()
    assert ends(outage) == {"verified": 5}
    assert waves(outage).n == len(sizes(outage)) - 1 - (gone == "after it")
    assert (compared(outage), queue(outage)) == ([], ())


def test_a_clock_that_is_set_moves_the_moment_with_it(fleet):
    outage = fleet(5)
    wave = until_open(outage)
    outage.here.node.transact(lambda root: healing_of(root).trials.move_waves(3600))
    [moved] = compared(outage)
    assert (moved.moment - wave.moment, moved.due - wave.due, moved.opened_at - wave.opened_at) == (3600, 3600, 3600)


def test_a_rule_that_is_deleted_meanwhile_leaves_nothing_behind(fleet, caplog):
    outage = fleet(5)
    until_open(outage)
    outage.here.service.ada.delete("/api/healing/rules/down")
    outage.until_quiet()
    while compared(outage):
        outage.step()
    assert "failed" not in caplog.text
    assert queue(outage) == ()
