"""Records that are declared once (`wire.kinds`, `wire.records`): read whole or in part, and all mistakes told."""

import json
from dataclasses import field
from typing import Annotated, Any, ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.automations.records import PARAMS_OF
from opsapp.lib.addresses import public, restored_settings, shown_settings
from opsapp.lib.problems import Invalid
from opsapp.maintenance.records import HealingWindowRecord, WindowDone, WindowRecord
from opsapp.statuspages.records import PageRecord
from opsapp.ui.plan.shape import inputs
from opsapp.web import shapes
from opsapp.web.declared import adapted, answer_of, body_of
from opsapp.web.jsontext import dumps
from opsapp.wire import kinds
from opsapp.wire.dataclass import dataclass
from opsapp.wire.kinds import (
    ABSENT,
    ByField,
    CheckedBy,
    DeclaredField,
    JsonKind,
    ListOf,
    MapOf,
    Number,
    Object,
    Scalar,
    Text,
    Whole,
)
from opsapp.wire.records import (
    AT_TIMES,
    Between,
    DeclaredObject,
    FormField,
    InAnswers,
    Most,
    Sealed,
    Told,
    changed,
    extended,
    made,
    parts_of,
    plain,
    settings_in,
    settings_of,
    unsealed,
)

EVEN = CheckedBy(lambda number: "must be even" if number % 2 else None)


SMALL = CheckedBy(lambda number: "must be small" if number > 4 else None)


@dataclass(frozen=True)
class Sizes:
    size: Annotated[int, Between(1, 10), EVEN, SMALL] = 2


@dataclass(frozen=True)
class Step:
    """Within another record."""

    name: Annotated[str, Text(1, 5)]
    wait_s: Annotated[float, Between(0.5, 60)] = 1


@dataclass(frozen=True)
class Pace:
    factor: Annotated[float, Between(high=1)] = 0.5


@dataclass(frozen=True)
class Paces:
    paces: tuple[Pace, ...] = ()


@dataclass(frozen=True)
class Plan:
    sample: ClassVar[dict[str, str]] = {"name": "Patch"}

    name: Annotated[str, Text(1, 8), FormField("Name", hint="What people read"), InAnswers(Text())]
    size: Annotated[int | None, Between(1, 10), EVEN] = None
    tags: Annotated[tuple[Annotated[str, Text(1, 3)], ...], Most(2, unique=True), FormField("Tags", "list")] = ()
    mode: Annotated[Literal["slow", "fast"], FormField("Mode", "choice")] = "slow"
    extra: Annotated[Any, kinds.Anything()] = None
    steps: Annotated[tuple[Step, ...], Most(3)] = ()
    first: Step | None = None
    pace: Pace = field(default_factory=Pace)
    enabled: bool = True

    id: Told[str] = ""
    made_at: Told[Annotated[float, Whole(0)]] = 0
    trouble: Annotated[str, AT_TIMES] = ""

    @staticmethod
    def across(sound):
        return {"tags": "a fast plan has tags"} if sound.get("mode") == "fast" and not sound.get("tags") else {}


@dataclass(frozen=True)
class Person:
    name: str


@dataclass(frozen=True)
class Account(Person):
    token: Annotated[str | None, Sealed()] = None


@dataclass(frozen=True)
class Ledger:
    people: tuple[Person, ...]


def read(document, record=Plan, **options):
    """The values that are sound, and what is wrong."""
    wrong: dict[str, str] = {}
    kind = DeclaredObject(record)
    for name, value in options.items():
        setattr(kind, name, value)
    return kind.read(document, "", wrong), wrong


def test_what_is_left_out_has_its_default():
    values, wrong = read({"name": "a"})
    assert (made(Plan, values), wrong) == (Plan("a"), {})


def test_a_record_is_read_and_written_as_it_was():
    document = {
        "name": "a", "size": 4, "tags": ["x"], "mode": "fast", "extra": {"deep": [None]}, "enabled": False,
        "steps": [{"name": "one", "wait_s": 2}], "first": {"name": "zero", "wait_s": 1}, "pace": {"factor": 1},
    }  # fmt: skip
    values, wrong = read(document)
    plan = made(Plan, values)
    assert wrong == {}
    assert (plan.tags, plan.steps, plan.first, plan.pace) == (("x",), (Step("one", 2),), Step("zero"), Pace(1))
    assert settings_of(plan) == document
    answered = plain(changed(plan, {"id": "p1", "made_at": 7.9}))
    assert answered == {**document, "id": "p1", "made_at": 7}, "and nothing of what is told at times"
    assert plain(changed(plan, {"trouble": "lost"}))["trouble"] == "lost"
    assert changed(plan, {"made_at": 7.9, "tags": ["y", "z"]}) == made(
        Plan, {**values, "made_at": 7.9, "tags": ["y", "z"]}
    )


@pytest.mark.parametrize(
    ("document", "wrong"),
    [
        (None, {"": "must be an object"}),
        ({}, {"name": "is required"}),
        ({"name": None}, {"name": "is required"}),
        ({"name": "much too long", "nmae": 1}, {"name": "must have 1 to 8 characters", "nmae": "is not known here"}),
        ({"name": "a", "id": "mine"}, {"id": "is not known here"}),
        ({"name": "a", "size": 3}, {"size": "must be even"}),
        ({"name": "a", "size": 12, "enabled": 1}, {"size": "must be 1 to 10", "enabled": "must be true or false"}),
        ({"name": "a", "size": True}, {"size": "must be an integer"}),
        ({"name": "a", "mode": "idle"}, {"mode": "must be one of slow, fast"}),
        ({"name": "a", "mode": "fast"}, {"tags": "a fast plan has tags"}),
        ({"name": "a", "mode": "fast", "tags": 7}, {"tags": "must be a list"}),
        ({"name": "a", "tags": ["x", "long", 7]}, {"tags": "must have 0 to 2 entries"}),
        ({"name": "a", "tags": ["long", 7]}, {"tags.0": "must have 1 to 3 characters", "tags.1": "must be a string"}),
        ({"name": "a", "tags": ["x", "x"]}, {"tags": "has an entry twice"}),
        ({"name": "a", "tags": ["x", None]}, {"tags.1": "is required"}),
        ({"name": "a", "steps": [{"name": "s", "wait_s": 0}, {}]},
         {"steps.0.wait_s": "must be 0.5 to 60", "steps.1.name": "is required"}),
        ({"name": "a", "first": {"wait_s": "7"}}, {"first.name": "is required", "first.wait_s": "must be a number"}),
        ({"name": "a", "pace": {"factor": 1.5}}, {"pace.factor": "must be at most 1"}),
        ({"name": "a\ud800"}, {"name": "has characters that are not allowed"}),
    ],
)  # fmt: skip
def test_everything_that_is_wrong_is_told_at_once_by_its_path(document, wrong):
    assert read(document)[1] == wrong


def test_a_part_keeps_what_is_left_out_and_null_counts_as_left_out():
    assert read({"enabled": False, "mode": None}, partial=True) == ({"enabled": False}, {})
    assert read({"size": None}, partial=True) == ({"size": None}, {}), "where null is a value it is one"
    assert read({"mode": "idle"}, partial=True)[1] == {"mode": "must be one of slow, fast"}
    assert read({"name": "a", "id": "p1"}, ignored=frozenset({"id"}))[1] == {}, "an answer may be sent back"


def test_what_is_sound_is_kept_beside_what_is_wrong():
    assert read({"name": "a", "size": 0, "mode": "fast"})[0].keys() >= {"name", "mode"}
    assert "size" not in read({"name": "a", "size": 0})[0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*"abc", "name", "tags"]), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([part.name for part in parts_of(Plan)]), JSON))
def test_any_document_is_read_or_refused_and_what_is_read_is_read_again_as_the_same(document):
    values, wrong = read(document)
    if not wrong:
        plan = made(Plan, values)
        written = json.loads(json.dumps(settings_of(plan)))
        again, still_wrong = read(written)
        assert (made(Plan, again), still_wrong) == (plan, {})
    assert all(path.partition(".")[0] in document or path == "name" or path == "tags" for path in wrong)


@given(st.dictionaries(st.sampled_from([part.name for part in settings_in(Plan)]), JSON))
def test_a_part_changes_what_it_says_and_nothing_else(document):
    values, wrong = read(document, partial=True)
    plan = changed(Plan("a", tags=("x",)), values) if not wrong else None
    for part in settings_in(Plan) if plan else ():
        if part.name not in values:
            assert getattr(plan, part.name) == getattr(Plan("a", tags=("x",)), part.name)


@pytest.mark.parametrize(
    ("kind", "value", "problem"),
    [
        (Number(), float("nan"), "must be a finite number"),
        (Number(), 10**400, "must be a finite number"),
        (Number(2), 1, "must be at least 2"),
        (Whole(), 10**400, None),
        (Text(1, 9, "[a-z]+", "a word"), "A", "must look like a word"),
        (Text(1, 9, "[a-z]+", must="be small"), "A", "must be small"),
        (Text(1, 9, "[a-z]+"), "A", "has the wrong form"),
        (Text(), "a\0", "has characters that are not allowed"),
        (Scalar(), [], "must not be a list or an object"),
        (Scalar(), float("inf"), "is no number that can be kept"),
        (kinds.Anything(), {"\ud800": 1}, "has characters that are not allowed"),
        (kinds.Anything(), [[]] * 3, None),
    ],
)
def test_single_values(kind, value, problem):
    assert kind.problem(value) == problem


def test_nothing_is_nested_without_end():
    deep: Any = []
    for _ in range(60):
        deep = [deep]
    assert kinds.Anything().problem(deep) == "is nested too deeply"


def test_a_map_has_free_names():
    numbers = MapOf(DeclaredField("", Number()), 2)

    def told(value):
        wrong: dict[str, str] = {}
        return numbers.read(value, "map", wrong), wrong

    assert told({"a": 1}) == ({"a": 1}, {})
    assert told([])[1] == {"map": "must be an object"}
    assert told(dict.fromkeys("abc", 1))[1] == {"map": "must have at most 2 entries"}
    assert told({"": 1})[1] == {"map": "the name '' must have 1 to 200 characters"}
    assert told({"a": "x"})[1] == {"map.a": "must be a number"}


def test_what_has_no_default_is_required_and_a_record_of_defaults_is_not():
    assert DeclaredObject(Pace).default == {"factor": 0.5}
    assert DeclaredObject(Step).default is kinds.REQUIRED
    assert kinds.read_entry(DeclaredField("", Text(), default=kinds.LEFT_OUT), ABSENT, "", {}) is kinds.LEFT_OUT
    assert Object(None, [DeclaredField("a", Text(), default=kinds.LEFT_OUT)]).read({}, "", {}) == {}


def test_a_kind_of_its_own_says_its_problem_and_one_that_says_none_is_a_mistake_of_ours():
    with pytest.raises(NotImplementedError):
        JsonKind().problem(1)
    assert JsonKind().made(1) == 1


def test_null_in_a_list_stands_for_nothing():
    paces: JsonKind = next(part.kind for part in parts_of(Paces))
    wrong: dict[str, str] = {}
    assert (paces.read([{}, None], "paces", wrong), wrong) == ([{"factor": 0.5}, None], {"paces.1": "is required"})


def test_a_list_keeps_the_place_of_what_is_wrong():
    wrong: dict[str, str] = {}
    assert ListOf(DeclaredField("", Whole())).read([1, "x", 3], "", wrong) == [1, None, 3]
    assert wrong == {"1": "must be an integer"}


def test_the_schemas_of_a_record_are_components_of_the_api_document():
    told = shapes.Components()
    told.answer(answer_of(Plan))
    assert told.body(body_of(Plan)) == {"$ref": "#/components/schemas/NewPlan"}
    answer, body = told.schemas["Plan"], told.schemas["NewPlan"]
    assert body["required"] == ["name"]
    assert answer["required"] == [part.name for part in parts_of(Plan) if part.name != "trouble"]
    assert body["properties"].keys() == {part.name for part in settings_in(Plan)}
    assert (answer["properties"]["name"]["minLength"], body["properties"]["name"]["minLength"]) == (0, 1)
    assert body["properties"]["first"] == {"anyOf": [{"$ref": "#/components/schemas/NewStep"}, {"type": "null"}]}
    assert answer["properties"]["steps"]["items"] == {"$ref": "#/components/schemas/Step"}
    assert (told.schemas["NewStep"]["required"], told.schemas["Step"]["required"]) == (["name"], ["name", "wait_s"])
    assert told.schemas["Pace"]["required"] == ["factor"], "an answer leaves nothing out, however deep"
    assert adapted([Plan], answer_of) == [answer_of(Plan)]
    assert adapted("text/plain", answer_of) == "text/plain"


def test_a_form_asks_for_what_says_how():
    assert [(each.name, each.kind, each.required) for each in inputs(Plan)] == [
        ("name", "text", True),
        ("tags", "list", False),
        ("mode", "choice", True),
    ]
    assert inputs(Plan)[2].choices == ("slow", "fast")
    assert [each.label for each in inputs(WindowRecord)] == [
        "Name", "Start", "End", "Repeats", "Covers", "Healing in this time",
    ]  # fmt: skip
    assert [each.name for each in inputs(HealingWindowRecord)] == ["target", "duration", "action", "reason"]
    assert [each.name for each in inputs(Plan, "mode", "tags")] == ["mode", "tags"]
    assert [each.name for each in inputs(Plan, "tags", within="params")] == ["params.tags"]
    with pytest.raises(KeyError):  # a form that asks for what does not say how
        inputs(Plan, "size")


def test_a_form_asks_for_rows_and_for_choices_that_may_be_left_open():
    (groups,) = inputs(PageRecord, "groups")
    assert [each.name for each in groups.fields] == ["id", "name", "collapsed", "monitors"]
    language, by = inputs(PageRecord, "language", "subscribe_by")
    assert (language.required, language.unsaid, by.choices) == (False, "as usual", ("mail", "webhook"))


def test_a_form_asks_for_rows_of_plain_values_by_one_input_each():
    in_order, stops = inputs(PARAMS_OF["composite"])
    assert [(each.name, each.kind, each.of) for each in in_order.fields] == [("automation_id", "name", "automation")]
    assert (stops.kind, stops.unsaid, stops.fields) == ("flag", "yes", ())


def test_a_secret_is_stored_apart_and_shown_to_nobody():
    account = Account("ada", "geheim")
    assert unsealed(account) == {"name": "ada"}
    assert shown_settings(Account, settings_of(account)) == {"name": "ada", "token": "***"}
    assert shown_settings(Account, settings_of(Account("ada"))) == {"name": "ada", "token": None}
    given = {"name": "bo", "token": "***"}
    assert restored_settings(Account, given, {"token": "geheim"}) == {"name": "bo", "token": "geheim"}
    with pytest.raises(Invalid) as refused:
        restored_settings(Account, given, None)
    assert set(refused.value.fields) == {"token"}


def test_what_a_record_has_beside_its_declaration_is_not_answered():
    told = Ledger((Account("ada", "geheim"),))
    assert plain(told) == {"people": [{"name": "ada"}]}
    assert plain(Account("ada", "geheim"), Person) == {"name": "ada"}


def test_what_people_say_of_a_window_is_the_same_whatever_it_answers():
    assert [part.name for part in settings_in(WindowDone)] == [part.name for part in settings_in(WindowRecord)]


@pytest.mark.parametrize(("size", "said"), [(3, "must be even"), (8, "must be small"), (7, "must be even"), (4, None)])
def test_of_several_checks_each_is_made(size, said):
    assert read({"size": size}, Sizes)[1] == ({} if said is None else {"size": said})


@dataclass(frozen=True)
class Drive:
    leaves_out_null: ClassVar[bool] = True

    to: Annotated[tuple[Annotated[str, Text(1, 9)], ...], Most(3, least=1)]
    over: Annotated[str | None, Text(1, 9)] = None


WAYS = {"drive": DeclaredObject(Drive), "wait": DeclaredObject(Pace)}


@dataclass(frozen=True)
class Move:
    way: Literal["drive", "wait"]
    told: Annotated[Any, ByField("way", WAYS)]
    icon: Annotated[str | None, Text(0, 9), InAnswers(Text())] = None


def test_one_field_says_what_another_is():
    sound, wrong = read({"way": "drive", "told": {"to": ["x"]}}, Move)
    move = made(Move, sound)
    assert (wrong, move) == ({}, Move("drive", Drive(("x",))))
    assert read(sound, Move) == (sound, {})  # what was read may be read again
    assert plain(move) == {"way": "drive", "told": {"to": ["x"]}, "icon": None}
    assert made(Move, {"way": "wait", "told": {}}).told == Pace()
    unsaid = made(Move, {"way": "wait", "told": None})
    assert (unsaid.told, plain(unsaid)) == (None, {"way": "wait", "told": None, "icon": None})
    assert changed(move, {"told": {"to": ["y"]}}).told == Drive(("y",))


def test_what_is_wrong_with_it_is_told_below_it_and_it_stays_as_it_was_sent():
    given = {"to": [], "left": 1}
    sound, wrong = read({"way": "drive", "told": given}, Move)
    assert wrong == {"told.to": "must have 1 to 3 entries", "told.left": "is not known here"}
    assert sound["told"] == given
    assert read({"way": "drive", "told": 7}, Move)[1] == {"told": "must be an object"}


def test_without_that_field_it_is_any_object():
    assert read({"told": {"any": 1}}, Move)[1] == {"way": "is required"}
    change = Object(Move, settings_in(Move), partial=True)
    assert change.read({"told": {"any": 1}}, "", {}) == {"told": {"any": 1}}


def test_what_an_answer_has_of_its_own_may_be_never_null():
    told = shapes.Components()
    told.answer(answer_of(Move))
    told.body(body_of(Move))
    shown, sent = (told.schemas[name]["properties"] for name in ("Move", "NewMove"))
    assert shown["icon"]["type"] == "string"
    assert sent["icon"]["anyOf"][1] == {"type": "null"}
    assert sent["told"]["additionalProperties"] == {}


@dataclass(frozen=True)
class Timed:
    stays_out: ClassVar = ("wait",)

    headers: Annotated[dict[str, str], MapOf(DeclaredField("", Text()))] = field(default_factory=dict)
    wait: Annotated[int, Between(1, 60)] = 5


def test_what_stays_out_is_left_to_whoever_makes_the_record():
    kind = DeclaredObject(Timed)
    assert kind.read({}, "", {}) == {"headers": {}}
    assert kind.read({"wait": 7}, "", {}) == {"headers": {}, "wait": 7}
    assert body_of(Timed)().kind.read({"wait": None}, "", {}) == {"headers": {}}
    assert made(Timed, {}).wait == 5


@dataclass(frozen=True)
class Measured:
    """An answer: values by name, and what is told only where it is known."""

    readings: dict[str, Step]
    url: str = ""
    lately: Annotated[Pace | None, AT_TIMES] = None


def test_answer_is_written_as_json_wherever_it_stands():
    measured = Measured({"cpu": Step("load", 2)})
    told = {"readings": {"cpu": {"name": "load", "wait_s": 2}}, "url": ""}
    assert json.loads(dumps(measured)) == told
    assert json.loads(dumps({"hosts": [measured]})) == {"hosts": [told]}
    assert made(Measured, told) == measured
    assert plain(Measured({}, lately=Pace(1))) == {"readings": {}, "url": "", "lately": {"factor": 1}}


@dataclass(frozen=True)
class Listed(Measured):
    """An answer that extends another."""

    id: str = ""
    rank: int | None = None


def test_record_is_extended():
    measured = Measured({"cpu": Step("load", 2)}, lately=Pace(1))
    assert extended(Listed, measured, id="a") == Listed(measured.readings, lately=Pace(1), id="a")
    with pytest.raises(TypeError, match="other fields"):
        extended(Listed, measured, name="a")


def test_what_is_told_at_times_is_never_null():
    parts = {node.name: node for node in answer_of(Measured)().children}
    assert (parts["lately"].null, parts["lately"].required) == (False, False)


def test_viewer_gets_the_public_part_of_an_answer():
    shown = public((Measured({}, "https://me:pw@shop.example.org/?token=x"),))
    assert shown == [Measured({}, "https://***@shop.example.org/?***")]
