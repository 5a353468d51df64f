"""A step of the clock with many open cases: moved in pieces, each once, whoever is killed between them."""

import pytest
from persistent.TimeStamp import TimeStamp

from opsapp.agents.engine import sweep
from opsapp.healing.engine import clocks
from opsapp.healing.resources import clockmoves, healing_of
from opsapp.healing.stages.case import CaseRecord
from tests.support import clockchild
from tests.support.app import Service
from tests.support.clock import FakeClock
from tests.support.process import Zeo

HOUR = 3600
CASES = 450


def times(service):
    """By case: when it was opened, and when it is due; by what the queue says, too."""

    def read(root):
        book = healing_of(root).book
        due = {case_id: at for at, case_id in book.due}
        opened = {case_id: at for _, at, case_id in book.under_way}
        records: list[CaseRecord] = [case.record for case in book.cases.values()]
        assert {record.id: record.due for record in records} == due
        assert {record.id: record.opened_at for record in records} == opened
        return {record.id: (record.opened_at, record.due) for record in records}

    return service.read(read)


def left(service):
    return service.read(lambda root: len(healing_of(root).book.to_move or ()))


@pytest.fixture
def many(service):
    service.transact(clockchild.open_cases, CASES, service.clock.now())
    clockchild.take_lease(service)
    return service


def is_moved(service, before, by):
    return times(service) == {case_id: (opened + by, due + by) for case_id, (opened, due) in before.items()}


@pytest.mark.parametrize("seconds", [HOUR, -HOUR])
def test_a_step_moves_all_in_pieces(many, monkeypatch, seconds):
    before, pieces = times(many), []
    real = clockmoves.go_on
    monkeypatch.setattr(clockmoves, "go_on", lambda book: pieces.append(len(book.to_move)) or real(book))
    many.clock.set_by(seconds)
    many.node.clock_steps.step()
    assert pieces == [450, 250, 50]
    assert is_moved(many, before, seconds)


def begun(service, seconds):
    """The step is written down, and one piece is moved."""
    service.transact(clocks.move, seconds)
    service.clock.advance(0)
    assert service.transact(clocks.move_on)


def test_a_second_step_between_two_pieces_moves_each_by_both(many):
    before = times(many)
    begun(many, HOUR)
    many.transact(clocks.move, -60.0)
    while many.transact(clocks.move_on):
        pass
    assert is_moved(many, before, HOUR - 60)


def test_a_case_that_begins_between_two_pieces_is_not_moved(many):
    before = times(many)
    begun(many, HOUR)
    now = many.clock.now() + HOUR
    many.transact(lambda root: clockchild.open_cases(root, 1, now))
    while many.transact(clocks.move_on):
        pass
    fresh = {case_id: row for case_id, row in times(many).items() if case_id not in before}
    assert list(fresh.values()) == [(now, now + clockchild.DUE_IN)]


def test_what_people_change_between_two_pieces_is_moved_first_and_once(many):
    before = times(many)
    begun(many, HOUR)
    waiting = many.read(lambda root: next(iter(healing_of(root).book.to_move)))
    now = many.clock.now() + HOUR

    def act(root):
        book = healing_of(root).book
        book.schedule(book.find(waiting), now)

    many.transact(act)
    while many.transact(clocks.move_on):
        pass
    assert times(many)[waiting] == (before[waiting][0] + HOUR, now)


def test_the_pipeline_moves_what_is_left_before_it_works(ward):
    here = ward()
    here.node.transact(clockchild.open_cases, CASES, here.clock.now())
    before = times(here.service)
    begun(here.service, HOUR)
    here.clock.advance(HOUR)
    while left(here.service):
        assert here.engine.work()
    assert here.ledger == [], "nothing was due: its ten minutes go on"
    assert is_moved(here.service, before, HOUR)


def test_one_damaged_case_holds_up_no_other(many):
    before = times(many)
    broken = sorted(before)[7]

    def damage(root):
        case = healing_of(root).book.cases[broken]
        case.fields = {**case.fields, "abouts": "damaged"}

    many.transact(damage)
    many.clock.set_by(HOUR)
    many.node.clock_steps.step()
    assert left(many) == 0

    def moved_by(root):
        cases = healing_of(root).book.cases
        return {cases[case_id].fields["opened_at"] - before[case_id][0] for case_id in before if case_id != broken}

    assert many.read(moved_by) == {HOUR}


# -- kill -9 ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def children():
    with clockchild.children() as children:
        yield children


@pytest.fixture
def killed(children):
    """A process made the store, set its clock, and was killed after so many pieces."""

    def killed(directory, pieces, seconds, *where):
        assert children.exit_code(directory, CASES, pieces, seconds, *where) == -9

    return killed


def found_moved(service, seconds):
    """The next node takes the lease and works."""
    assert 0 < left(service) <= CASES
    clockchild.take_lease(service)
    service.node.clock_steps.step()
    while left(service):
        service.transact(clocks.move_on)
    at = FakeClock().now() + seconds
    assert set(times(service).values()) == {(at, at + clockchild.DUE_IN)}


@pytest.mark.parametrize("pieces", [0, 1, 2])
@pytest.mark.parametrize("seconds", [HOUR, -HOUR])
def test_a_kill_between_pieces_moves_none_twice_and_forgets_none(tmp_path, killed, pieces, seconds):
    killed(tmp_path, pieces, seconds)
    service = Service(tmp_path, FakeClock(FakeClock().now() + seconds))
    try:
        found_moved(service, seconds)
    finally:
        service.close()


@pytest.mark.parametrize("seconds", [HOUR, -HOUR])
def test_a_kill_between_pieces_on_a_store_that_others_use(tmp_path, killed, seconds):
    """The other node's clock is right, and it has watched the lease of the one that is killed."""
    (tmp_path / "zeo").mkdir()
    (tmp_path / "own").mkdir()
    zeo = Zeo(tmp_path / "zeo")
    zeo.start()
    where = tuple(zeo.uris().values())
    try:
        killed(tmp_path / "own", 1, seconds, *where)
        clock = FakeClock(FakeClock().now() + seconds)
        service = Service(tmp_path / "own", clock, **clockchild.addresses(*where))
        assert not service.node.exclusive
        try:
            found_moved(service, seconds)
        finally:
            service.close()
    finally:
        zeo.end()


def test_a_kill_between_two_queues_moves_the_first_once_and_the_second_too(tmp_path):
    """The clock was set back while the service was down, and the next start was killed while it moved what waits."""
    moved = []

    class KilledHere(BaseException):
        pass

    def first(root, by):
        moved.append("first")

    def second(root, by):
        moved.append("second")
        if moved.count("second") == 1:
            raise KilledHere

    for _ in range(2):
        service = Service(tmp_path)
        service.node.clock._now = TimeStamp(service.node.store.db.lastTransaction()).timeTime() - HOUR
        steps = service.node.clock_steps
        steps.start()
        steps.carry(sweep.LEASE, "first", first)
        steps.carry(clocks.LEASE, "second", second)
        for lease in (sweep.LEASE, clocks.LEASE):
            service.node.leases.want(lease)
        service.node.leases.step()
        try:
            steps.step()
        except KilledHere:
            assert moved == ["first", "second"]
        service.close()
    assert moved == ["first", "second", "second"]
