"""Values in their places, secrets out of streams, steps, inputs, lines: automations' decisions on plain values."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.automations.engine import warroom
from opsapp.automations.engine.output_stream import OutputLines, position_of
from opsapp.automations.engine.programs import argv_of
from opsapp.automations.engine.webhook_sender import body_of
from opsapp.automations.logic import inputs, runs, templates, workflow
from opsapp.automations.logic.references import Missing, Values, places
from opsapp.automations.logic.settings import AutomationSettings, loosens_gate
from opsapp.automations.logic.workflow import CompositeParams, WorkflowParams
from opsapp.automations.resources import Output
from opsapp.automations.resources.runs import OutputChunk
from opsapp.lib.masks import MASK, Masker, everywhere, masked
from opsapp.wire.records import DeclaredObject, changed, made


def test_each_place_in_its_own_form():
    values = Values({"who": "a b&c", "n": 3, "yes": True}, {"key": "k/1", "hook": "https://x/y?z=1"})
    assert values.plain("{{input:who}} {{input:n}} {{input:yes}} {{secret:key}}") == "a b&c 3 true k/1"
    assert values.url("http://h/{{input:who}}?k={{secret:key}}") == "http://h/a%20b%26c?k=k%2F1"
    assert values.url("{{secret:hook}}&w={{input:who}}") == "https://x/y?z=1&w=a%20b%26c"
    assert Values({"x": "a\r\nX-Evil: 1"}, {}).line("{{input:x}}") == "a X-Evil: 1"
    assert values.everywhere({"a": ["{{input:n}}", 1, None]}) == {"a": ["3", 1, None]}
    assert places({"a": ["{{input:n}}", "{{secret:key}}"], "b": 1}) == {("input", "n"), ("secret", "key")}
    with pytest.raises(Missing, match="there is no secret gone"):
        values.script("{{secret:gone}}", "sh")


@given(st.lists(st.sampled_from(["hunter2", "hun", "ter2", "2", "x", "hunter", "\n"]), max_size=30))
def test_a_secret_is_found_however_the_stream_is_cut(pieces):
    masker = Masker(["hunter2"])
    shown = "".join([masker.put(piece) for piece in pieces]) + masker.end()
    assert shown == "".join(pieces).replace("hunter2", MASK)


def test_secrets_of_several_lines_and_short_ones():
    key = "-----BEGIN-----\nabcdefghijkl\n-----END-----"
    assert masked("  abcdefghijkl\nok", [key]) == f"  {MASK}\nok"
    assert masked("ab", ["ab"]) == "ab"
    assert everywhere({"a": ["my word", 1], "b": None}, ["word"]) == {"a": [f"my {MASK}", 1], "b": None}


def test_output_is_cut_once_and_says_so():
    output = Output()
    for n in range(5000):
        output.add("é" * 1000, n)
    assert output.cut
    assert output.kept == len(output.text().encode()) <= runs.KEPT
    assert output.text().endswith(runs.CUT)
    size = output.size
    output.add("more", 1)
    assert output.size == size


@given(st.lists(st.text("ab\n", max_size=20), max_size=30), st.integers(0, 200), st.integers(1, 50))
def test_a_reader_that_goes_on_anywhere_misses_nothing(pieces, start, most):
    output = Output()
    for n, piece in enumerate(pieces):
        output.add(piece, n)
    whole = output.text()
    lines, found = OutputLines(min(start, len(whole))), []
    while lines.reads_from < output.size:
        for at, text, _ in output.since(lines.reads_from, most):
            found += lines.put(at, text)
    found += lines.rest()
    rest = whole[min(start, len(whole)) :]
    assert [line for line, _ in found] == (rest.removesuffix("\n").split("\n") if rest else [])
    assert all(whole[:place].endswith(("\n", line)) for line, place in found)


def test_each_piece_of_output_keeps_the_time_at_which_it_was_written():
    output, told = Output(), []
    for at, piece in ((10, "a\n"), (10, "b\n"), (12, "c\n"), (13, "d\n"), (13, "e" * 5000), (20, "f\n")):
        before = output.size
        output.add(piece, at)
        told += [(start, text, when) for start, text, when in output.since(before, 10_000)]
    assert [when for _, _, when in told] == [10, 10, 12, 13, 13, 20]
    again = {start + n: when for start, text, when in output.since(0, 10_000) for n in range(len(text))}
    assert [again[start] for start, _, _ in told] == [10, 10, 12, 13, 13, 20]
    assert next(text for _, text, _ in output.since(3, 10_000)) == "\n"
    old = OutputChunk("written by an older version", 7)
    assert list(old.since(8)) == [(8, "by an older version", 7)]


def test_where_a_reader_left_off():
    assert [position_of(text) for text in (None, "", "x", "12", "12-done", "-1", "9" * 40)] == [0, 0, 0, 12, 12, 0, 0]


def test_a_list_and_its_end():
    listed = CompositeParams(automations=("a", "b"))
    assert listed.first()[:2] == ("0", "a")
    assert listed.following([("0", "done")])[:2] == ("1", "b")
    assert listed.following([("0", "timeout")])[2:] == ("failed", "step 1 ended timeout")
    assert listed.following([("0", "done"), ("1", "done")])[2] == "done"


@pytest.mark.parametrize(
    ("steps", "more", "field"),
    [
        ([{"id": "a"}, {"id": "a"}], {}, "steps"),
        ([{"id": "a"}], {"start": "b"}, "start"),
        ([{"id": "a", "on_success": "b"}], {}, "steps.0.on_success"),
        ([{"id": "a", "on_failure": "a"}], {}, "steps"),
        ([{"id": "a", "on_success": "b"}, {"id": "b", "on_failure": "a"}], {}, "steps"),
    ],
)
def test_steps_that_do_not_fit(steps, more, field):
    steps = [{"automation_id": "x", **step} for step in steps]
    assert list(workflow.step_problems(made(WorkflowParams, {"steps": steps, **more}))) == [field]


def test_levels_are_counted_up_to_a_bound():
    assert workflow.depth(["0"], lambda name: [str(int(name) + 1)]) == workflow.DEEPEST + 1
    assert workflow.depth(["a"], lambda name: []) == 1


def test_services_by_manager():
    assert argv_of("systemd", "x", "restart") == ["systemctl", "restart", "--", "x"]
    assert argv_of("systemd", "x", "status") == ["systemctl", "status", "--no-pager", "--", "x"]
    assert argv_of("openrc", "x", "enable") == ["rc-update", "add", "x"]
    assert argv_of("openrc", "x", "start") == ["rc-service", "x", "start"]
    assert argv_of("sysv", "x", "disable") == ["update-rc.d", "x", "disable"]
    assert argv_of("sysv", "x", "stop") == ["service", "x", "stop"]


def test_inputs_and_their_kinds():
    declared = [inputs.Input(name="n", type="number"), inputs.Input(name="s")]
    assert inputs.values(declared, {"n": 1, "s": "x"}) == ({"n": 1, "s": "x"}, {})
    found, wrong = inputs.values(declared, {"n": True, "s": "x" * 20_001})
    assert (found, set(wrong)) == ({}, {"n", "s"})
    assert inputs.values(declared, {"s": "a\0b"})[1] == {"s": "has characters that are not allowed"}


def test_the_rank_of_what_has_worked():
    assert warroom.at_least(0, 0) == warroom.at_least(0, 5) == 0.0
    assert warroom.for_condition(3, 3, 0, 9) == warroom.at_least(3, 3)
    assert warroom.for_condition(0, 0, 8, 8) == warroom.at_least(8, 8) / 2
    assert 0.7 < warroom.at_least(10, 10) < 0.8 < warroom.at_least(100, 100) < 1
    assert runs.succeeded(["done", "failed", "lost"]) == "lost"
    assert runs.succeeded(["done", "done"]) == "done"


def test_a_list_goes_on_or_stops_at_what_fails():
    three = CompositeParams(automations=("a", "b", "c"))
    assert three.first() == ("0", "a", "", None)
    assert three.following([("0", "done")])[:2] == ("1", "b")
    assert three.following([("0", "done"), ("1", "failed")])[2:] == ("failed", "step 2 ended failed")
    on = replace(three, stop_on_failure=False)
    assert on.following([("0", "failed")])[:2] == ("1", "b")
    ended = [("0", "failed"), ("1", "done"), ("2", "timeout")]
    assert on.following(ended)[2:] == ("failed", "failed steps: 1, 3")
    assert three.following([("0", "done"), ("1", "done"), ("2", "done")])[2] == "done"


def test_a_workflow_goes_where_its_steps_say():
    steps = [
        {"id": "one", "automation_id": "a", "on_success": "two", "on_failure": "three"},
        {"id": "two", "automation_id": "b"},
        {"id": "three", "automation_id": "c"},
    ]
    declared = made(WorkflowParams, {"steps": steps})
    assert declared.first()[:2] == ("one", "a")
    assert replace(declared, start="three").first()[:2] == ("three", "c")
    assert declared.following([("one", "done")])[:2] == ("two", "b")
    assert declared.following([("one", "failed")])[:2] == ("three", "c")
    assert declared.following([("two", "done")])[2] == "done"
    assert declared.following([("two", "lost")])[2:] == ("failed", "step two ended lost")


def test_control_characters_are_shown_as_what_they_are_not():
    assert runs.readable("a\x00b\x1bc\n") == "a\ufffdb\ufffdc\n"


def test_only_a_choice_has_choices():
    choice = {"name": "way", "type": "choice", "choices": ["a"]}
    assert inputs.declaration_problem({**choice, "choices": []}) == "a choice needs choices"
    assert inputs.declaration_problem({**choice, "type": "string"}) == "only a choice has choices"
    assert inputs.declaration_problem({**choice, "default": "b"}).startswith("the default")
    assert inputs.declaration_problem({**choice, "default": "a"}) is None


def test_parts_are_looked_at_once_however_often_they_are_named():
    parts = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}
    assert workflow.contains("a", parts.__getitem__, "d")
    assert not workflow.contains("a", parts.__getitem__, "a")


def test_a_template_of_another_type_keeps_no_params_of_the_old_one():
    template = templates.BuiltIn("t", "", "", "script", {"script": "true", "interpreter": "sh"})
    assert templates.applied(template, {"params": {"script": "id"}})["params"] == {"script": "id", "interpreter": "sh"}
    http = {"type": "http", "params": {"url": "http://x/"}}
    assert templates.applied(template, http)["params"] == {"url": "http://x/"}
    assert templates.applied(template, {"params": 7})["params"] == 7
    assert templates.applied(template, {})["params"] == template.params


KEPT = {"schedule": None, "timezone": None, "catch_up": False, "enabled": True, "timeout": 300, "concurrency": "queue",
        "retries": 0, "requires_approval": False, "approvers": [], "quorum": 1}  # fmt: skip
STEPS = {"steps": [{"id": "a", "automation_id": "b", "on_success": None, "on_failure": None}]}
WAY = {"name": "way", "type": "choice", "default": None, "required": True, "choices": ["a"], "description": ""}


@pytest.mark.parametrize(
    ("kind", "sent", "stored"),
    [
        ("script", {"script": "id", "tag": None}, {"script": "id"}),
        ("service_control", {"service": "x", "action": "stop"}, {"service": "x", "action": "stop"}),
        ("agent_command", {"agent_id": "a", "command": "id"}, {"agent_id": "a", "command": "id"}),
        ("webhook", {"url": "https://x/", "headers": {"A": "b"}, "body": [1]},
         {"url": "https://x/", "method": "POST", "headers": {"A": "b"}, "body": [1]}),
        ("notification", {"title": "x"}, {"title": "x", "channels": [], "severity": "info", "message": ""}),
        ("composite", {"automations": ["b"]}, {"automations": ["b"], "stop_on_failure": True}),
        ("workflow", {"steps": [{"id": "a", "automation_id": "b"}]}, STEPS),
    ],
)  # fmt: skip
def test_the_store_has_what_versions_before_can_read(kind, sent, stored):
    wrong: dict[str, str] = {}
    inputs_sent = [{"name": "way", "type": "choice", "choices": ["a"], "required": True}]
    values = {"name": "x", "type": kind, "params": sent, "icon": "bell", "inputs": inputs_sent}
    settings = made(AutomationSettings, DeclaredObject(AutomationSettings).read(values, "", wrong))
    whole = {"name": "x", "type": kind, "params": stored, "icon": "bell", "description": "", **KEPT, "inputs": [WAY]}
    assert (settings.stored(), wrong) == (whole, {})
    assert made(AutomationSettings, whole) == settings


@pytest.mark.parametrize(
    ("body", "sent", "content_type"),
    [
        ({"a": 1}, b'{"a": 1}', "application/json"),
        (7, b"7", "application/json"),
        (' {"text": "down"} ', b' {"text": "down"} ', "application/json"),
        ("[1]", b"[1]", "application/json"),
        ("token=1&user=2", b"token=1&user=2", None),
        ("7", b"7", None),
        ('{"open": ', b'{"open": ', None),
        ("[" * 100_000, b"[" * 100_000, None),
        ("", b"", None),
        (None, b"", None),
    ],
)
def test_what_a_webhook_sends_and_what_it_calls_that(body, sent, content_type):
    assert body_of(body, {}) == (sent, {"Content-Type": content_type} if content_type else {})
    own = {"content-type": "application/x-own"}
    assert body_of(body, own) == (sent, own)


GATE = {"requires_approval": True, "approvers": ["ada", "otto"], "quorum": 2}


@pytest.mark.parametrize(
    ("gate", "changes", "looser"),
    [
        (GATE, {"requires_approval": False}, True),
        (GATE, {"quorum": 1}, True),
        (GATE, {"approvers": ["ada"]}, True),
        (GATE, {"approvers": ["otto", "ada"], "quorum": 3}, False),
        (GATE, {"name": "other"}, False),
        ({**GATE, "approvers": []}, {"approvers": ["ada"]}, False),
        ({**GATE, "requires_approval": False}, {"quorum": 1, "approvers": []}, False),
    ],
)
def test_which_changes_let_fewer_people_decide(gate, changes, looser):
    before = made(AutomationSettings, {"name": "x", "type": "script", "params": {"script": "id"}, **gate})
    assert loosens_gate(before, changed(before, changes)) is looser
