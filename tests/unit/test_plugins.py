"""What plugins say: exit codes, the first line, performance data in the form of the guidelines."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opsapp.wire import plugins
from opsapp.wire.checks import checks_of
from opsapp.wire.conditions import parse
from opsapp.wire.fields import record
from opsapp.wire.plugins import READ, outcome_of, read_output
from opsapp.wire.probes import MOST_METRICS, Outcome
from opsapp.wire.readings import NAME_LENGTH, PLUGIN, metric_name


@pytest.mark.parametrize(
    ("code", "ok", "degraded"), [(0, True, None), (1, True, True), (2, False, None), (3, None, None)]
)
def test_the_exit_code_is_the_state(code, ok, degraded):
    outcome = outcome_of(code, b"DISK - free space: / 3326 MB | /=2643MB;5948;5958;0;5968\n", 12.5)
    assert (outcome.ok, outcome.degraded, outcome.detail) == (ok, degraded, "DISK - free space: / 3326 MB")
    assert (outcome.response_time_ms, outcome.metrics, outcome.units) == (12.5, {"/": 2643 * 1024**2}, {"/": "B"})


@pytest.mark.parametrize("code", [4, 126, 127, 255])
def test_any_other_exit_code_is_unknown(code):
    outcome = outcome_of(code, b"sh: not found | a=1", 1.0)
    assert (outcome.ok, outcome.metrics) == (None, None)
    assert outcome.detail == f"the plugin ended with exit code {code}, which is none of 0 to 3: sh: not found"
    assert outcome_of(code, b"", 1.0).detail.endswith("none of 0 to 3")


def test_a_plugin_that_says_nothing_is_told_so():
    assert outcome_of(2, b" \n ", 1.0).detail == "exit code 2, without output"


@pytest.mark.parametrize(
    ("data", "metrics", "units"),
    [
        ("load1=0.4;5;10;0;", {"load1": 0.4}, {"load1": ""}),
        ("'one two'=1 'it''s'=2", {"one_two": 1, "it_s": 2}, {"one_two": "", "it_s": ""}),
        ("rta=12.445ms;100 pl=0%;5;15", {"rta": 0.012445, "pl": 0}, {"rta": "s", "pl": "%"}),
        ("a=3us b=3µs c=3s", {"a": 3e-6, "b": 3e-6, "c": 3}, dict.fromkeys("abc", "s")),
        ("a=1B b=1KB c=1kB d=1TB e=1MiB", {"a": 1, "b": 1024, "c": 1024, "d": 1024**4, "e": 1024**2},
         dict.fromkeys("abcde", "B")),
        ("seen=17c power=3.5W", {"seen": 17, "power": 3.5}, {"seen": "c", "power": "W"}),
        ("a=-1.5e3 b=.5 c=+2.", {"a": -1500, "b": 0.5, "c": 2}, dict.fromkeys("abc", "")),
        ("a=U b=1", {"b": 1}, {"b": ""}),
        ("a=1 a=2 a_2=3 a=4", {"a": 1, "a_2": 2, "a_2_2": 3, "a_3": 4}, None),
        ("a =1 b= c=1,5 d=0x10 e=nan f=inf g=1e999 h=1e308TB i", {}, {}),
        ("=1 ''=2 '='=3 '..'=4", {"_": 3}, {"_": ""}),
        ("a=1 'never closed=2 b=3", {"a": 1}, {"a": ""}),
        ("a=1averylongunitnobodyknows b=2", {"b": 2}, {"b": ""}),
        ("'a'b=1 c=2", {"c": 2}, {"c": ""}),
        ("a=3m\0s b=2\0 c=1\x07W 'd\0'=4%", {"a": 0.003, "b": 2, "c": 1, "d_": 4},
         {"a": "s", "b": "", "c": "W", "d_": "%"}),
    ],
)  # fmt: skip
def test_performance_data(data, metrics, units):
    output = read_output(f"OK|{data}".encode())
    assert output.metrics == pytest.approx(metrics)
    assert units is None or output.units == units


def test_performance_data_stand_on_the_first_line_and_after_the_long_text():
    output = read_output(b"\nOK - fine | a=1\nlong text\nmore | 'b c'=2\nd=3 e=4\n")
    assert output.text == "OK - fine"
    assert output.metrics == {"a": 1, "b_c": 2, "d": 3, "e": 4}


def test_a_long_output_is_cut_between_two_words():
    data = b"OK | " + b" ".join(b"a%d=1234567890" % n for n in range(10))
    filler = b"x" * (READ - len(data) - 1)
    output = read_output(data[:5] + filler + b" " + data[5:])
    assert set(output.metrics.values()) == {1234567890}
    assert read_output(b"y" * (READ + 9)).text == "y" * READ


def test_there_are_only_so_many_metrics():
    output = read_output(b"OK |" + b"".join(b" m%d=%d" % (n, n) for n in range(1000)))
    assert list(output.metrics) == [f"m{n}" for n in range(MOST_METRICS)]


@pytest.mark.parametrize("data", [b"'' " * 300_000, b"a=" + b"1" * 2_000_000 + b"x1", b"'" * 2_000_000])
def test_a_long_output_is_gone_through_once(monkeypatch, data):
    """So much longer than what is read of a plugin that a reading which goes back again and again would not end within
    hours."""
    monkeypatch.setattr(plugins, "READ", len(data) + 1)
    assert read_output(b"|" + data).metrics == {}


@given(st.binary() | st.text("'|=; .1ab\n\0\x1b").map(str.encode))
@example(b"OK | a=1\0")
@example(b"|'''=1")
@example(b"|" + b"'' " * 20_000)
@example(b"|a=" + b"1" * 60_000 + b"x1")
def test_any_output_is_read_and_fits_into_its_message(raw):
    outcome = outcome_of(0, raw, 1.0)
    told = record({"metrics": outcome.metrics, "units": outcome.units}, checks_of(Outcome))
    assert (told["metrics"], told["units"]) == (outcome.metrics, outcome.units)
    for name in outcome.metrics or ():
        assert parse(f"{PLUGIN}{name} > 1").names == (f"{PLUGIN}{name}",)


@given(st.text())
@example("a.b")
@example("/var/lib")
@example("C:\\ %")
@example("." * 99 + "x" + "." + "y")
@example("and")
@example("*")
def test_every_name_of_a_metric_can_be_read_by_a_condition(label):
    name = metric_name(label)
    assert len(name) <= NAME_LENGTH
    if name:
        assert parse(f"{PLUGIN}{name} > 1 or {PLUGIN}{name} < 0").names == (f"{PLUGIN}{name}",)
        assert metric_name(name) == name
