"""Which refusals get an entry of their own, and that whoever knocks without end costs neither disk nor memory."""

from opsapp.audit.logic.tally import CountedRefusals, RefusalKind, RefusalLimits, Tally

FEW = RefusalLimits(of_a_kind=2, all=5)
LOGIN = RefusalKind("192.0.2.1", "login", "bad_credentials")


def test_the_first_ones_of_a_kind_are_written_and_the_others_counted():
    tally = Tally()
    assert [tally.admits(LOGIN, "ada", 1000 + n, FEW) for n in range(5)] == [True, True, False, False, False]
    assert tally.admits(LOGIN._replace(reason="locked"), "ada", 1005, FEW)
    assert tally.due(1059) == []
    assert tally.due(1060) == [CountedRefusals(LOGIN, "ada", 3, 1002)]
    assert tally.due(2000) == []


def test_every_minute_begins_anew_and_nothing_counted_is_forgotten():
    tally = Tally()
    answers = [tally.admits(LOGIN, "ada", at, FEW) for at in (0, 1, 2, 60, 61, 62)]
    assert answers == [True, True, False] * 2
    assert tally.due(62, all=True) == [CountedRefusals(LOGIN, "ada", 2, 2)]


def test_names_are_told_when_they_are_one():
    tally = Tally()
    for name in ("ada", "ada", "ada", "otto", "vera"):
        tally.admits(LOGIN, name, 0, FEW)
    assert tally.due(60)[0].username is None


def test_no_number_of_addresses_fills_disk_or_memory():
    tally = Tally()
    kinds = [LOGIN._replace(ip=f"192.0.2.{n}") for n in range(200)]
    assert [tally.admits(kind, None, 0, FEW) for kind in kinds] == [True] * 5 + [False] * 195
    assert tally.admits(kinds[0], None, 0, FEW) is False
    told = {each.kind.ip: each.times for each in tally.due(60)}
    assert told == {None: 195, "192.0.2.0": 1}


def test_a_clock_that_is_set_back_locks_nobody_out_of_the_record():
    tally = Tally()
    for _ in range(3):
        tally.admits(LOGIN, None, 5000, FEW)
    assert tally.admits(LOGIN, None, 100, FEW)


def test_of_many_names_two_are_remembered():
    tally = Tally()
    for n in range(9):
        tally.admits(LOGIN, f"user-{n}", 0, FEW)
    assert [(each.username, each.times) for each in tally.due(60)] == [(None, 7)]
