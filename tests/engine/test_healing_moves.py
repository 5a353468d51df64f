"""What the engine applies is in the table of moves; a case that wants anything else stops, and never acts."""

import pytest

from opsapp.healing.engine import steps
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.cases import Case
from opsapp.healing.stages import moves, stepping
from opsapp.healing.stages.case import read
from opsapp.healing.stages.moves import MOVES, SendCommand
from tests.support.hosts import place
from tests.unit.healing.test_cases import OLD

FAILED = {"service__nginx__state": "failed"}


@pytest.mark.parametrize("places", [(), (place("box-2", "a2"),)])
def test_a_move_that_is_not_in_the_table_stops_the_case(ward, monkeypatch, caplog, places):
    here = ward(places=[place(), *places], waves="off").at("execute").report(**FAILED).turn()
    if places:
        here.report("agent:a2", **FAILED).turn()

    def decides(case, world, facts, real=stepping.following):
        then = real(case, world, facts)
        if case.target.startswith("box-1") and isinstance(then, moves.BeginHeal):
            return SendCommand(then.case)  # without an intent
        return then

    monkeypatch.setattr(steps, "following", decides)
    here.turn(6)
    own = [entry for entry in here.ledger if entry["target"] == "box-1/nginx"]
    assert [(entry["outcome"], entry["executed"]) for entry in own] == [("lost", False)]
    assert own[0]["reason"] == "internal_error: IllegalMove: planning -> executing.snapshot by SendCommand"
    assert "planning -> executing.snapshot by SendCommand" in caplog.text
    assert [command["agent_id"] for command in here.hosts.sent] == ["a2"] * len(places), "the others go on"


def test_the_table_holds_what_a_heal_does(ward, monkeypatch):
    made, check = set(), moves.check

    def noted(before, then):
        made.add((before, type(then).__name__))
        check(before, then)

    monkeypatch.setattr(moves, "check", noted)
    here = ward().at("execute").report(**FAILED).turn().turn(6)
    here.heal(service__nginx__state="active")
    assert [entry["outcome"] for entry in here.ledger] == ["verified"]
    assert {("correlating", "PlanNow"), ("planning", "BeginHeal"), ("verifying", "EndCase")} <= made
    assert made <= {(move.before, move.by) for move in MOVES}


@pytest.mark.parametrize("state", OLD)
def test_a_store_with_a_case_of_an_older_version_opens(ward, state):
    here = ward()

    def keep(root):
        case = healing_of(root).book.cases["00ff"] = Case(read(OLD[state]))
        case.fields = OLD[state]  # as that version wrote it

    here.node.transact(keep)
    here.node.transact(lambda root: root._p_jar.cacheMinimize())
    assert here.node.transact(lambda root: healing_of(root).book.cases["00ff"].record.place) == state
    assert here.service.vera.get("/api/healing/cases/00ff").json["state"] == state.partition(".")[0]
