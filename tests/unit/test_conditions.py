"""The condition language: what it reads, what it refuses and where, and that unknown is never true and never false."""

import ast
import math
import pathlib
import string
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.wire import conditions, conditiontree, readings
from opsapp.wire.conditions import ConditionError, parse, reread, without_event
from opsapp.wire.readings import fresh, key_of, split

HOST = {
    "cpu_percent": 95,
    "mem_percent": 40.5,
    "disk./var.percent": 91,
    "disk./.percent": 20,
    "disk./mnt/two words.percent": 99,
    "service.nginx.state": "failed",
    "service.getty@tty1.state": "active",
    "container.web.state": "exited",
    "container.web-1.2.state": "running",
    "monitor.status": "down",
    "response_time_ms": 1200,
    "broken": math.nan,
    "nothing": None,
}


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("cpu_percent > 90", True),
        ("cpu_percent>90", True),
        ("cpu_percent >= 95", True),
        ("cpu_percent < 95", False),
        ("cpu_percent <= 95", True),
        ("cpu_percent == 95.0", True),
        ("cpu_percent != 95", False),
        ("90 < cpu_percent", True),
        ("cpu_percent > mem_percent", True),
        ("mem_percent > .5e2", False),
        ("cpu_percent > -1", True),
        ("cpu_percent > +1", True),
        ('service.nginx.state == "failed"', True),
        ("service.nginx.state == 'failed'", True),
        ('service.nginx.service.state == "failed"', True),
        ('service.nginx.state != "failed"', False),
        ('service.getty@tty1.state == "active"', True),
        ("disk./var.percent > 90", True),
        ("disk./.percent > 90", False),
        ('disk."/mnt/two words".percent > 90', True),
        ('container.web.state != "running"', True),
        ('container.web-1.2.state == "running"', True),
        ('monitor.status == "down" and response_time_ms > 1000', True),
        ('monitor.status == "up" or response_time_ms > 1000', True),
        ('not monitor.status == "up"', True),
        ('not (monitor.status == "down" and cpu_percent > 90)', False),
        ("cpu_percent > 99 or cpu_percent > 98 and mem_percent > 0 or cpu_percent > 90", True),
        ("(cpu_percent > 99 or cpu_percent > 90) and mem_percent > 90", False),
        ("absent > 1", None),
        ("nothing > 1", None),
        ("broken > 1", None),
        ("broken == broken", None),
        ("cpu_percent > broken", None),
        ("not absent > 1", None),
        ('cpu_percent == "95"', None),
        ("service.nginx.state == 1", None),
        ("service.nginx.state > monitor.status", None),
        ("service.nginx.state == container.web.state", False),
    ],
)
def test_evaluation(text, verdict):
    assert parse(text).evaluate(HOST) is verdict


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("{t} and {t}", True),
        ("{t} and {f}", False),
        ("{t} and {u}", None),
        ("{f} and {u}", False),
        ("{u} and {f}", False),
        ("{u} and {u}", None),
        ("{f} and {f}", False),
        ("{t} or {u}", True),
        ("{u} or {t}", True),
        ("{f} or {u}", None),
        ("{f} or {f}", False),
        ("{u} or {u}", None),
        ("{f} or {t}", True),
        ("not {u}", None),
        ("not {t}", False),
        ("not {f}", True),
    ],
)
def test_kleene_tables(text, verdict):
    text = text.format(t="cpu_percent > 90", f="cpu_percent < 90", u="absent > 90")
    assert parse(text).evaluate(HOST) is verdict


@pytest.mark.parametrize(
    ("text", "says", "position"),
    [
        ("", "is expected here", 0),
        ("   ", "is expected here", 3),
        ("cpu_percent", "a comparison", 11),
        ("cpu_percent = 90", "use ==", 12),
        ("cpu_percent > 90%", "'%' cannot stand", 16),
        ("cpu_percent > 90 95", "one too many", 17),
        ("cpu_percent > 90)", "one too many", 16),
        ("(cpu_percent > 90", "not closed", 0),
        ("cpu_percent >", "is expected here", 13),
        ("cpu_percent > and", "is expected here", 14),
        ("and cpu_percent > 1", "is expected here", 0),
        ("cpu_percent > 90 and", "is expected here", 20),
        ("1 < cpu_percent < 3", "joined with `and`", 16),
        ("1 == 1", "nothing that is measured", 0),
        ("cpu_percent > 1x", "not a number", 14),
        ("cpu_percent > 1e999", "too large", 14),
        ('state == "open', "not closed", 9),
        ('state > "a"', "no order", 6),
        ('"a" <= state', "no order", 4),
        ("service. == 1", "empty parts", 0),
        ("service..state == 1", "empty parts", 0),
        ("*.x == 1", "cannot stand", 0),
        ("service.ng*.state == 1", "* stands for", 0),
        ("service.*x == 1", "* stands for", 0),
        ("volume.*.state == 1", "* stands for", 0),
        ("service.*.failed == 1 and disk.*.percent > 1", "one kind of *", 0),
        ("__import__('os')", "a comparison", 10),
        ("cpu_percent > 90; x", "';' cannot stand", 16),
        ("not " * 33 + "cpu_percent > 1", "nested", 128),
        ("(" * 33 + "cpu_percent > 1" + ")" * 33, "nested", 32),
        (" and ".join(["a > 1"] * 101), "comparisons", 1002),
        ("a > 1" + " " * 2000, "at most 2000", 2000),
    ],
)
def test_refusals_say_what_and_where(text, says, position):
    with pytest.raises(ConditionError) as caught:
        parse(text)
    assert says in str(caught.value)
    assert caught.value.position == position
    assert f"at character {position + 1}" in str(caught.value)


def test_names_are_listed_once_in_order():
    assert parse("b > 1 and not (a > 1 or b < 9)").names == ("b", "a")


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("cpu_percent > 90", None),
        ('service.nginx.state == "failed"', ("service", "nginx")),
        ('service.nginx.state == "failed" and cpu_percent > 1', ("service", "nginx")),
        ('service.nginx.state == "failed" or service.php.state == "failed"', None),
        ("disk./var.percent > 90", ("disk", "/var")),
        ('container.web.state == "exited"', ("container", "web")),
        ('monitor.status == "down"', None),
        ("service.*.failed == 1", None),
    ],
)
def test_what_a_condition_is_about(text, subject):
    assert parse(text).subject == subject


def test_a_star_is_bound_to_each_thing_of_its_kind():
    failed = parse('service.*.state == "failed" and cpu_percent < 99')
    assert failed.family == "service"
    assert failed.bindings(HOST) == ["getty@tty1", "nginx"]
    assert failed.bind("nginx").evaluate(HOST) is True
    assert failed.bind("getty@tty1").evaluate(HOST) is False
    assert failed.bind("nginx.service").subject == ("service", "nginx")
    assert str(failed.bind("nginx")) == 'service.nginx.state == "failed" and cpu_percent < 99'
    with pytest.raises(ValueError, match="bind it to one first"):
        failed.evaluate(HOST)


def test_a_star_binds_inside_not_and_brackets_and_to_names_with_blanks():
    full = parse("not (disk.*.percent < 95 or disk.*.percent < 90)").bind("/mnt/two words")
    assert full.evaluate(HOST) is True
    assert parse(str(full)).tree == full.tree


ANY_NAME = st.text(min_size=1, max_size=255).filter(lambda name: name not in ("*", ".service"))


@given(
    ANY_NAME,
    st.sampled_from(["disk.*.percent > 90", 'service.*.state != "it\'s"', "not (disk.*.a < 1 or disk.*.b < 2)"]),
)
@pytest.mark.attack
def test_whatever_a_host_calls_a_thing_its_condition_is_read_again(name, text):
    bound = parse(text).bind(name)
    again = reread(str(bound))
    assert again.tree == bound.tree
    assert (again.names, again.subject, again.family) == (bound.names, bound.subject, None)


@pytest.mark.parametrize("name", ["/a..b", "/a.", "/a*b", '"', "/\"'", '/a".b', "a\nb", "x" * 255, ".x", "'"])
def test_a_name_of_odd_characters_is_quoted(name):
    bound = parse("disk.*.percent > 90").bind(name)
    assert reread(str(bound)).evaluate({f"disk.{name}.percent": 91}) is True


def test_a_condition_that_is_bound_to_long_names_is_read_again():
    text = " or ".join(f"disk.*.percent > {number}" for number in range(80))
    bound = str(parse(text).bind("/" + "x" * 254))
    with pytest.raises(ConditionError, match="at most 2000"):
        parse(bound)
    assert str(reread(bound).tree) == bound


def test_what_no_version_can_read_is_nothing():
    assert reread('disk."/a"b\'.percent > 90') is None


def test_a_condition_without_star_is_its_own_binding():
    plain = parse("cpu_percent > 90")
    assert plain.bind("nginx") is plain
    assert plain.bindings(HOST) == []
    assert (str(plain), repr(plain)) == ("cpu_percent > 90", "Condition('cpu_percent > 90')")


def test_text_keeps_its_quotes():
    assert str(parse("""a == 'say "x"' and b.c == "it's" """).tree) == """a == 'say "x"' and b.c == "it's\""""


@pytest.mark.parametrize(("age", "verdict"), [(0, True), (45, True), (45.5, None), (4000, None)])
def test_a_reading_older_than_three_intervals_does_not_exist(age, verdict):
    now = 1_000_000.0
    assert parse("cpu_percent > 90").evaluate(fresh({"cpu_percent": (95, now - age)}, now, 15)) is verdict


def test_a_reading_that_never_came_does_not_exist():
    assert parse("cpu_percent > 90").evaluate(fresh({}, 0.0, 15)) is None


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        ("cpu_percent", ("cpu_percent", "", "")),
        ("monitor.status", ("monitor", "", "status")),
        ("disk./srv/v1.0.percent", ("disk", "/srv/v1.0", "percent")),
        ("service.a.b.state", ("service", "a.b", "state")),
    ],
)
def test_split(key, parts):
    assert split(key) == parts


def test_one_spelling_for_units():
    assert key_of("service", "nginx.service", "state") == key_of("service", "nginx", "state") == "service.nginx.state"
    assert key_of("container", "x.service", "state") == "container.x.service.state"


# -- properties -------------------------------------------------------------------------------------------------------

NAMES = ["cpu_percent", "disk./var.percent", "service.nginx.state", 'disk."/a b".percent', "service.*.failed"]
NUMBERS = st.one_of(st.integers(-(10**6), 10**6), st.floats(allow_nan=False, allow_infinity=False)).map(repr)
OPERATORS = st.sampled_from(sorted(conditiontree.OPERATORS))
COMPARISONS = st.builds("{} {} {}".format, st.sampled_from(NAMES), OPERATORS, NUMBERS)
TEXTS = st.recursive(
    COMPARISONS,
    lambda inner: st.one_of(
        st.builds("not ({})".format, inner),
        st.builds("({}) and ({})".format, inner, inner),
        st.builds("{} or ({})".format, inner, inner),
    ),
    max_leaves=8,
)
VALUES = st.one_of(st.none(), st.floats(), st.integers(-(10**6), 10**6), st.sampled_from(["failed", "up"]))


@given(TEXTS)
def test_what_is_printed_reads_the_same(text):
    tree = parse(text).tree
    assert parse(str(tree)).tree == tree


@given(TEXTS, st.dictionaries(st.sampled_from([*NAMES, "disk./a b.percent", "service.nginx.failed"]), VALUES))
def test_unknown_stays_unknown_whatever_the_missing_readings_turn_out_to_be(text, readings):
    """A known verdict never changes when a reading that was missing arrives: this is what lets a heal trust it."""
    condition = parse(text).bind("nginx")
    verdict = condition.evaluate({name: value for name, value in readings.items() if value is not None})
    if verdict is not None:
        for filler in (0, 10**7, "failed"):
            full = {name: filler for name in condition.names} | {k: v for k, v in readings.items() if v is not None}
            assert condition.evaluate(full) is verdict


@given(st.text(alphabet=string.printable + "é\x00*", max_size=60))
def test_any_text_is_read_or_refused_with_a_position(text):
    try:
        condition = parse(text)
    except ConditionError as error:
        position = error.position
    else:
        position = 0 if condition.names else -1
    assert 0 <= position <= len(text)


@pytest.mark.parametrize("module", [conditions, conditiontree, readings])
def test_the_module_needs_the_standard_library_only_and_no_eval(module):
    tree = ast.parse(pathlib.Path(module.__file__).read_text(), feature_version=(3, 9))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level}
    siblings = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level}
    assert siblings <= {"conditiontree", "readings", "reports"}
    assert imported
    assert {name.split(".")[0] for name in imported} <= set(sys.stdlib_module_names)
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert called.isdisjoint({"eval", "exec", "compile"})


def test_a_condition_about_events_is_bound_to_one_and_told_without_it():
    general = parse('not (event.name == "Down") and event.labels.job == "web" or cpu_percent > 3')
    assert general.reads_events
    bound = general.about_event("0123456789abcdef")
    assert bound.names == ("event.0123456789abcdef.name", "event.0123456789abcdef.labels.job", "cpu_percent")
    assert parse(str(bound)).names == bound.names
    assert without_event(str(bound)) == str(general.tree)
    assert not parse("cpu_percent > 3").reads_events
