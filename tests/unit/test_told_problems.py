"""Several problems of one kind under one key: each that still exists is told, in a message a minute at most."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from opsapp.notify.logic import messagegroups
from opsapp.notify.logic.messagegroups import NOTHING, MessageGroup, Told

WAIT, EVERY = 5.0, 60.0


def bad(rule, severity="critical", title=None, **more):
    title = f"box-1: {rule}" if title is None else title
    return Told(0, "heal:box-1", "heal.notified", severity, title, f"text of {rule}", phase="also",
                ids={"rule": rule, "case": "c"}, **more)  # fmt: skip


def over(rule):
    return Told(0, "heal:box-1", "heal.resolved", "critical", "box-1: over", f"No longer: {rule}", phase="over",
                ids={"rule": rule})  # fmt: skip


def play(*story):
    """(time, row) in order; what was sent, as (time, group)."""
    group, sent = None, []
    for at, row in (*story, (1e9, None)):
        while group is not None and (due := messagegroups.agenda(group, EVERY)) <= at:
            if group.due is None:
                group = None
            else:
                sent.append((due, group))
                group = messagegroups.told(group, "m", due)
                group = MessageGroup.read(group.stored(due))
        if row is not None:
            group = messagegroups.gather(group, row._replace(at=at), NOTHING, at, WAIT, EVERY)
    return sent


def said(*story):
    return [(at, group.title, group.text, group.titles) for at, group in play(*story)]


def test_another_problem_of_the_same_kind_is_told_when_the_minute_is_over():
    first, second = play((0, bad("a")), (20, bad("b")), (30, bad("c", "warning")), (40, bad("a")))
    assert (first[0], first[1].title) == (5, "box-1: a")
    assert (second[0], second[1].titles, second[1].severity) == (65, ("box-1: b", "box-1: c", "box-1: a"), "critical")


def test_the_same_problem_again_says_nothing_new():
    assert len(play((0, bad("a")), (20, bad("a")), (50, bad("a", "info")))) == 1


def test_a_storm_of_problems_is_a_message_a_minute():
    sent = play(*((n / 10, bad(f"rule-{n}")) for n in range(1000)))
    assert [at for at, _ in sent] == [5, 65, 125]


def test_an_end_does_not_speak_for_what_goes_on():
    ((_, title, text, titles),) = said((0, bad("a")), (1, bad("b")), (2, over("a")))
    assert (title, text) == ("box-1: b", "text of b")
    assert titles == ("box-1: a", "box-1: b", "box-1: over (a)")
    _, (at, title, text, _) = said((0, bad("a")), (20, bad("b")), (30, over("a")))
    assert (at, title, text) == (65, "box-1: b", "text of b")


def test_the_severity_is_that_of_what_goes_on():
    ((_, group),) = play((0, bad("a")), (1, bad("b", "warning")), (2, over("a")))
    assert (group.kind, group.severity) == ("heal.notified", "warning")


def test_what_began_and_ended_within_the_minute_ends_the_message():
    _, (at, title, text, _) = said((0, bad("a")), (20, bad("b")), (30, over("b")))
    assert (at, title, text) == (65, "box-1: over", "No longer: b")


def test_each_end_is_told():
    sent = said((0, bad("a")), (1, bad("b")), (100, over("a")), (110, over("b")), (120, over("b")))
    assert [(at, text) for at, _, text, _ in sent[1:]] == [(105, "No longer: a"), (165, "No longer: b")]
    _, (_, _, _, titles) = said((0, bad("a")), (100, over("a")), (101, over("b")))
    assert titles == ("box-1: over", "box-1: over (b)")


def test_a_group_of_an_older_store_tells_once_more():
    group = messagegroups.told(messagegroups.gather(None, bad("a"), NOTHING, 0, WAIT, EVERY), "m", 5)
    stored = group.stored(65)
    stored = {name: value for name, value in stored.items() if name != "news"}
    stored["told"] = {name: value for name, value in stored["told"].items() if name != "names"}
    again = messagegroups.gather(MessageGroup.read(stored), bad("b"), NOTHING, 20, WAIT, EVERY)
    assert (again.due, again.title) == (65, "box-1: b")


RULES = ["a", "b", "c", "d"]


@given(st.lists(st.tuples(st.floats(0, 30), st.sampled_from(RULES), st.booleans()), min_size=1, max_size=20))
def test_whatever_happens_people_know_what_is_true(steps):
    """Each rule begins where it is false and is over where it is true; the last that people hear of it is so."""
    now, true, story = 0.0, set(), []
    for pause, rule, begins in steps:
        now += pause
        if begins != (rule in true):
            story.append((now, bad(rule) if begins else over(rule)))
            (true.add if begins else true.discard)(rule)
    named = {title for _, group in play(*story) for title in group.titles}
    assert {f"box-1: {rule}" for rule in true} <= named
    times = [at for at, _ in play(*story)]
    assert all(later >= sooner + EVERY for sooner, later in itertools.pairwise(times))
