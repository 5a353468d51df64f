"""A case in the store's form and back, as this version and older ones have written it; and the table of moves."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.healing.stages import moves
from opsapp.healing.stages.attempt import Tried
from opsapp.healing.stages.case import (
    STATES,
    WHY_LINES,
    About,
    Heal,
    PendingLook,
    RuleEvent,
    moved,
    opened,
    read,
    stored,
)
from opsapp.healing.stages.moves import MOVES, EndCase, IllegalMove, Wait

from .world import NOW, case, event

# As versions before typed cases have written them: every field at the top, those of former states among them.
FIRST = {
    "id": "00ff", "source": "alert", "condition": "a > 1", "target": "box-1/nginx", "severity": "critical",
    "metrics": {"a": 2}, "agent_id": "a1", "subject": "agent:a1", "names": ("box-1", "a1"), "note": None,
    "measured_at": NOW - 6, "rule_id": "r", "correlation_key": "box-1/nginx", "state": "correlating", "step": 0,
    "events": {"r": 2}, "abouts": {"r": {"source": "alert", "condition": "a > 1", "target": "box-1/nginx"}},
    "queued": False, "opened_at": NOW - 5, "closed_at": None, "outcome": None, "level": "observation",
    "entry_id": None, "approval_id": None, "phase": None, "command_id": None, "snapshot": None, "began_at": None,
    "settled_at": None, "deadline": None, "waits_since": None, "waits_from": None, "looks_from": None,
    "acted_at": None, "late": {}, "why": ("held",), "due": NOW, "beside": None,
}  # fmt: skip
ACTING = {**FIRST, "state": "executing", "entry_id": 7, "host": "a1", "action": "restart_service",
          "params": {"service": "nginx"}, "began_at": NOW - 4, "heal_id": "00ff.0", "definition": "d",
          "phase": "snapshot", "command_id": "c1", "sent_at": NOW - 4, "level": "execute"}  # fmt: skip
SETTLING = {**ACTING, "state": "settling", "phase": None, "command_id": None, "armed": True, "acted_at": NOW - 2}
VERIFYING = {**SETTLING, "state": "verifying", "settled_at": NOW - 1, "deadline": NOW + 59, "asked_at": NOW - 1,
             "asked_under": 3}  # fmt: skip
OLD = {
    "correlating": FIRST,
    "planning": {**FIRST, "state": "planning", "waits_since": NOW - 1, "waits_from": NOW - 1},
    "awaiting_approval": {**FIRST, "state": "awaiting_approval", "approval_id": "p1", "entry_id": 7},
    "executing.snapshot": ACTING,
    "executing.execute": {**ACTING, "phase": "execute", "snapshot": {"kind": "unit"}},
    "settling": SETTLING,
    "verifying": VERIFYING,
    "verifying.confirm": {**VERIFYING, "phase": "confirm", "command_id": "c2", "asked_twice": True},
    "executing.rollback": {**VERIFYING, "state": "executing", "phase": "rollback", "command_id": "c3",
                           "verdict": "failed", "doubt": "the condition still holds"},
    "closed": {**VERIFYING, "state": "closed", "phase": "confirm", "outcome": "verified", "closed_at": NOW,
               "tried": (("verified", "d"),), "late": {"r2": 9}, "entry_id": None, "due": float("inf")},
}  # fmt: skip


@pytest.mark.parametrize("place", OLD)
def test_a_case_of_an_older_version_is_read_in_each_state(place):
    record = read(OLD[place])
    assert record.place == place
    assert (record.about.target, record.about.subject, record.events) == ("box-1/nginx", "agent:a1", {"r": 2})
    assert record.abouts["r"] == About("alert", "a > 1", "box-1/nginx")
    if record.state in ("executing", "settling", "verifying", "closed"):
        assert record.heal == Heal(
            "a1", "restart_service", "00ff.0", NOW - 4, {"service": "nginx"}, "d",
            snapshot={"kind": "unit"} if place == "executing.execute" else None,
            armed=place not in ("executing.snapshot", "executing.execute"),
            acted_at=None if place in ("executing.snapshot", "executing.execute") else NOW - 2,
        )  # fmt: skip
        assert record.acts is (record.state != "closed")
    if place == "closed":
        assert (record.outcome, record.closed_at, record.late) == ("verified", NOW, {"r2": 9})
        assert record.tried == (Tried("verified", "d"),)
    if place == "verifying.confirm":
        assert (record.command_id, record.asked_twice) == ("c2", True)


@pytest.mark.parametrize("place", OLD)
def test_an_older_version_reads_what_this_one_writes(place):
    written = stored(read(OLD[place]))
    assert set(FIRST) <= set(written), "it reads these without asking whether they are there"
    needed = {name for name, value in OLD[place].items() if value is not None and name not in ("abouts", "phase")}
    if place == "closed":  # what it needs of former states are the host, the action and when that was
        needed -= {"settled_at", "deadline", "asked_at", "asked_under", "command_id", "sent_at"}
    if place in ("settling", "verifying", "verifying.confirm", "executing.rollback"):
        needed -= {"sent_at", "settled_at", "deadline", "asked_at", "asked_under"}
    assert {name: written[name] for name in needed} == {name: OLD[place][name] for name in needed}
    assert read(written) == read(OLD[place])


def test_the_first_versions_wrote_fewer_fields():
    record = read({"id": "1", "state": "verifying", "rule_id": "r", "events": {}, "abouts": {}, "opened_at": NOW,
                   "source": "alert", "condition": "a", "target": "box-1", "phase": None})  # fmt: skip
    assert (record.heal, record.asked_under) == (None, None)
    assert record.about.called == ("box-1",)


@given(st.sampled_from(STATES), st.integers(0, 9), st.booleans())
def test_every_state_comes_back_as_it_was(state, number, flag):
    record = case(step=number, queued=flag).becomes(state, heal=Heal("a1", "restart_service", "h", NOW))
    assert read(stored(record)) == record


def test_a_look_that_is_under_way_is_kept_and_moves_with_the_clock():
    asked = case(look=("a1", "c1", NOW + 5), cause={"id": "masked", "text": "t", "evidence": [], "unit": "nginx"})
    assert read(stored(asked)) == asked
    assert moved(asked, 60.0).look == PendingLook("a1", "c1", NOW + 65)


def test_a_new_case_stands_for_its_event():
    record = opened(event(early=True))
    assert (record.place, record.events, record.abouts) == (
        "correlating",
        {"nginx-down": 1},
        {"nginx-down": record.about},
    )
    assert RuleEvent.read({"rule_id": "r", "source": "s", "condition": "c", "target": "t", "at": 1}).early is False


def test_why_keeps_the_newest_lines_and_repeats_none():
    record = case(why=("a",)).saying("a", "b", "b")
    assert record.why == ("a", "b", "b")
    assert len(record.saying(*map(str, range(WHY_LINES + 9))).why) == WHY_LINES


# -- the table --------------------------------------------------------------------------------------------------------


def test_the_table_knows_every_state_and_every_kind_of_answer():
    places = {move.before for move in MOVES} | {move.after for move in MOVES}
    assert places == {read(values).place for values in OLD.values()} | {moves.NEW}
    kinds = {kind.__name__ for kind in moves.Next.__args__}
    assert {move.by for move in MOVES} == kinds - {"Recall"}, "a recall is one of the two that it holds"
    assert len(set(MOVES)) == len(MOVES) == len(moves.ALLOWED)


def test_every_place_leads_to_the_end():
    done, before = set(), {"closed"}
    while before - done:
        done |= before
        before = {move.before for move in MOVES if move.after in done}
    assert done >= {move.after for move in MOVES}


@pytest.mark.parametrize(
    ("before", "then"),
    [
        ("closed", Wait(case(), NOW)),
        ("settling", EndCase(case(), "verified", "")),
        ("planning", Wait(read(SETTLING), NOW)),
    ],
)
def test_a_move_that_is_not_in_the_table_is_refused(before, then):
    with pytest.raises(IllegalMove, match=f"{before} -> "):
        moves.check(before, then)


def test_the_table_is_drawn():
    lines = moves.drawn().splitlines()
    assert lines[0] == "stateDiagram-v2"
    assert "    [*] --> correlating: Wait, an event opens a case" in lines
    assert (
        "    executing_snapshot --> executing_execute: SendCommand, there is a snapshot, or the action needs none"
        in lines
    )
    assert len(lines) == len(MOVES) + 2


def test_the_guide_draws_the_table():
    guide = (Path(__file__).parents[3] / "docs/guide/healing.md").read_text()
    assert f"```mermaid\n{moves.drawn()}\n```" in guide
