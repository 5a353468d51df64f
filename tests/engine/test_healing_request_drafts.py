"""People are asked once about an outage of thousands, and no transaction that writes it is larger than another."""

from collections import Counter

import pytest

from opsapp.healing.engine import arrivals, pipeline, steps, waves, wavetrials
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.cases import CaseBook
from opsapp.healing.resources.requestdrafts import DraftPiece
from opsapp.notify.resources import inbox
from opsapp.tree.damage import Damage, load
from tests.engine.outage import decide, deeds, ends, fleets, members, sizes, told
from tests.engine.test_healing_waves import look_now
from tests.engine.test_healing_waves_kills import Mortal, again_and_again

PIECE = 4


@pytest.fixture
def fleet(ward, monkeypatch):
    monkeypatch.setattr(wavetrials, "ASKED_AT_ONCE", PIECE)
    return fleets(ward)


def requests(outage):
    return outage.here.service.vera.get("/api/approvals").json


def until(outage, met, steps=40):
    """Steps of the pipeline, one transaction each, until it is so."""
    for _ in range(steps):
        if met():
            return outage
        outage.here.engine.look()
        if not outage.here.engine.work():
            outage.here.clock.advance(0.5)
            outage.report()
    raise AssertionError("it never comes to that")


def awaiting(outage):
    return [case for case in outage.here.cases if case["state"] == "awaiting_approval"]


def drafts(outage):
    return outage.here.node.transact(lambda root: len(healing_of(root).waves.asking or ()))


def half_way(outage):
    """Some wait for a request that nobody has seen."""
    outage.report()
    until(outage, lambda: len(awaiting(outage)) >= 2 * PIECE)
    assert requests(outage) == []
    return outage


def test_no_transaction_of_an_outage_takes_up_more_than_a_piece_of_it(ward, monkeypatch):
    """One that opened a case for each of 1,000 alerts wrote 3,000 objects."""
    outage, taken = fleets(ward)(300, level="approve"), []

    def noted(real):
        def note(*given):
            taken[-1][real.__name__] += 1
            return real(*given)

        return note

    def work(*given, real=pipeline.work):
        taken.append(Counter())
        return real(*given)

    monkeypatch.setattr(arrivals, "receive", noted(arrivals.receive))
    monkeypatch.setattr(steps, "advance", noted(steps.advance))
    monkeypatch.setattr(pipeline, "work", work)
    outage.until_asked()
    for name in ("receive", "advance"):
        assert max(piece[name] for piece in taken) == pipeline.RECEIVED_AT_ONCE == 250
        assert sum(piece[name] for piece in taken) >= 300
    assert len(awaiting(outage)) == 300


def test_one_request_and_one_message_however_many_transactions_write_it(fleet):
    outage = half_way(fleet(23, level="approve")).until_asked()
    [asked] = requests(outage)
    assert asked["subject"] == "23 targets"
    assert sorted(target["target"] for target in asked["plan"]["targets"]) == sorted(f"h{n}" for n in range(23))
    [leads] = [case for case in outage.here.cases if case["id"] == asked["case_id"]]
    assert leads["entry_id"] == asked["ledger_id"]
    assert told(outage) == {"heal.approval": 1}
    assert drafts(outage) == 0
    decide(outage)
    assert ends(outage.until_quiet()) == {"verified": 23}
    assert sizes(outage) == [1, 2, 11, 9]
    assert told(outage) == {"heal.waves": 1}


def written(outage, count):
    """What each transaction changes, by class, while people are asked about so many."""
    here, transact, changed = outage.here, outage.here.node.transact, []

    def noting(fn, *values):
        def noted(root, *given):
            answer = fn(root, *given)
            changed.append(Counter(type(item).__name__ for item in root._p_jar._registered_objects))
            return answer

        return transact(noted, *values)

    half_way(outage)  # all of them are planned
    here.node.transact = noting
    until(outage, lambda: requests(outage))
    here.node.transact = transact
    assert len(awaiting(outage)) == count
    return [row for row in changed if row]


@pytest.mark.parametrize("count", [20, 80])
def test_a_transaction_writes_as_much_for_many_as_for_few(fleet, count):
    outage = fleet(count, level="approve")
    rows = written(outage, count)
    assert max(row["Case"] for row in rows) == PIECE
    assert max(sum(row.values()) for row in rows) <= 8 * PIECE, "its cases and entries, and the indexes of both"
    assert len(rows) >= count // PIECE - 2
    assert len(requests(outage)) == 1


def test_a_kill_between_two_pieces_loses_nothing_and_asks_nobody_twice(fleet):
    outage = half_way(fleet(15, level="approve"))
    outage.here.restart()
    outage.until_asked()
    [asked] = requests(outage)
    assert asked["subject"] == "15 targets"
    assert told(outage) == {"heal.approval": 1}
    assert Counter(entry["outcome"] for entry in outage.here.ledger) == {"awaiting_approval": 15}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_kill_at_any_point_asks_once(fleet, seed):
    outage = fleet(15, level="approve")
    mortal = Mortal(outage, again_and_again(seed))
    outage.until_asked(200)
    assert mortal.died
    assert [asked["subject"] for asked in requests(outage)] == ["15 targets"]
    decide(outage)
    outage.until_quiet(2000)
    assert sorted(outage.acted) == sorted(outage.state)
    assert told(outage)["heal.approval"] == 1


def is_gone(outage, cases):
    """Their hosts are deleted, and they look at it."""
    gone = {case["target"] for case in cases}
    outage.here.hosts.here[:] = [known for known in outage.here.hosts.here if known.name not in gone]
    outage.silent.update(case["agent_id"] for case in cases)
    outage.here.node.transact(look_now, [case["id"] for case in cases], outage.here.clock.now())


def test_what_nothing_wants_any_more_before_it_is_whole_is_not_asked_about(fleet):
    outage = half_way(fleet(15, level="approve"))
    gone = awaiting(outage)[:1]
    is_gone(outage, gone)
    outage.until_asked()
    [asked] = requests(outage)
    assert asked["subject"] == "14 targets"
    assert gone[0]["target"] not in {target["target"] for target in asked["plan"]["targets"]}
    decide(outage)
    assert ends(outage.until_quiet()) == {"verified": 14, "withdrawn": 1}


def test_where_nothing_wants_it_any_more_nobody_is_asked(fleet):
    outage = half_way(fleet(15, level="approve"))
    is_gone(outage, outage.here.cases)
    outage.until_quiet()
    assert requests(outage) == []
    assert sum(ends(outage).values()) == 15
    assert told(outage)["heal.approval"] == 0
    assert drafts(outage) == 0


def test_one_that_is_left_is_asked_about_as_a_single_target(fleet):
    outage = half_way(fleet(15, level="approve"))
    left = awaiting(outage)[0]
    is_gone(outage, [case for case in outage.here.cases if case["id"] != left["id"]])
    outage.until_asked()
    [asked] = requests(outage)
    assert asked["subject"] == left["target"]
    decide(outage)
    assert ends(outage.until_quiet())["verified"] == 1


def test_a_pause_meanwhile_ends_the_rest(fleet):
    outage = half_way(fleet(15, level="approve"))
    outage.here.service.client("ada").post_json("/api/healing/pause", {"reason": "no more"})
    outage.here.turn()
    waits = len(awaiting(outage))
    assert Counter(entry["outcome"] for entry in outage.here.ledger)["suppressed"] == 15 - waits
    assert [asked["subject"] for asked in requests(outage)] == [f"{waits} targets"]


def test_a_piece_that_cannot_be_read_costs_its_own_targets(fleet, monkeypatch):
    """They were asked about in a request that nobody can make any more: it ends for them as one that nobody decided."""
    outage, broken = half_way(fleet(15, level="approve")), []

    def reading(item):
        if isinstance(item, DraftPiece) and (not broken or item is broken[0]):
            broken[:] = [item]
            raise Damage("part of a request", "0", "damaged")
        return load(item)

    monkeypatch.setattr("opsapp.tree.reading.load", reading)
    outage.until_asked()
    assert requests(outage)[0]["subject"] == f"{15 - PIECE} targets"


def test_a_deed_that_has_stopped_asks_nobody_any_more(fleet):
    outage = half_way(fleet(15, level="approve"))

    def stop(root):
        book = healing_of(root).waves
        [stored] = book.deeds.values()
        stored.deed = stored.deed._replace(stopped="h1: failed")
        for case in healing_of(root).book.all_open():
            healing_of(root).book.schedule(case, 0.0)

    outage.here.node.transact(stop)
    outage.until_quiet()
    assert requests(outage) == []
    assert {entry["reason"] for entry in outage.here.ledger} == {"wave_stopped: h1: failed"}
    assert ([deed.ended for deed in deeds(outage)], drafts(outage)) == ([True], 0)


def test_a_stop_is_told_to_some_at_a_time(fleet, monkeypatch):
    """Of thousands that wait, the verdict that stops them writes none."""
    monkeypatch.setattr(waves, "TOLD_AT_ONCE", PIECE)
    outage, schedule, woken = fleet(30, "nothing"), CaseBook.schedule, []

    def noting(book, case, due):
        woken.append(case.record.id)
        schedule(book, case, due)

    while not any(entry["outcome"] == "failed" for entry in outage.here.ledger):
        outage.here.clock.advance(0.5)
        outage.answer()
        outage.report()
        woken.clear()
        monkeypatch.setattr(CaseBook, "schedule", noting)
        until_nothing_fails(outage)
    assert woken == []
    first = sorted(members(outage).items())[:PIECE]
    outage.here.engine.work()
    assert woken == [case_id for case_id, member in first if not member.verdict]  # the one that failed may be of them
    assert ends(outage.until_quiet()) == {"failed": 1, "withdrawn": 29}
    [message] = [row for row in outage.here.node.transact(inbox.take, 100) if row.kind == "heal.waves"]
    assert "29 targets" in f"{message.title} {message.text}"


def until_nothing_fails(outage):
    """What is due now, up to the transaction that hears of a failure."""
    while outage.here.engine.look() or outage.here.engine.work():
        if any(entry["outcome"] == "failed" for entry in outage.here.ledger):
            return


@pytest.mark.parametrize("hosts", [3, 23])
def test_a_request_is_about_each_of_its_targets(fleet, hosts):
    """By whatever number of transactions it was written: teams see it by that."""
    outage = fleet(hosts, level="approve").until_asked()
    [asked] = requests(outage)
    assert asked["subjects"] == sorted(f"agent:a{at}" for at in range(hosts))


def test_a_draft_that_an_older_version_began_is_about_nothing_known(fleet):
    outage = half_way(fleet(23, level="approve"))

    def older(root):
        for asking in healing_of(root).waves.asking.values():
            for draft in asking.whole():
                del draft.pieces[0].subjects

    outage.here.node.transact(older)
    [asked] = requests(outage.until_asked())
    assert asked["subjects"] == []
