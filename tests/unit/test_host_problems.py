"""What is wrong with a host: from which figure on, in which words, and that the default rules begin at the same one."""

import pytest

from opsapp.agents.problems import problems_of, silent_since
from opsapp.healing.engine.default_rules import DEFAULT_RULES
from opsapp.wire.conditions import parse
from opsapp.wire.readings import of_report
from opsapp.wire.reports import AgentMetrics, Measurement


def words(clock_off=None, **metrics):
    return [problem.words for problem in problems_of(AgentMetrics(**metrics), clock_off)]


def test_nothing_is_wrong_where_nothing_is_known():
    assert words() == []


@pytest.mark.parametrize(
    ("just", "wrong", "said"),
    [
        ({"cpu_percent": 90.0}, {"cpu_percent": 97.2}, "CPU 97 %"),
        ({"mem_percent": 90.0}, {"mem_percent": 91.0}, "memory 91 %"),
        ({"disks": {"/": 89.9}}, {"disks": {"/": 93.0}}, "/ 93 % full"),
        ({"disk_percent": 89.9}, {"disk_percent": 90.0}, "a disk 90 % full"),
        ({"clock_off": -29.9}, {"clock_off": -40.0}, "clock 40 s off"),
        ({"metrics": {"inodes./.percent": 89.0}}, {"metrics": {"inodes./.percent": 90.0}}, "/ 90 % of inodes used"),
        ({"metrics": {"disk./.read_only": 0.0}}, {"metrics": {"disk./.read_only": 1.0}}, "/ is read-only"),
        (
            {"metrics": {"service_manager.hung_s": 59.0}},
            {"metrics": {"service_manager.hung_s": 60.0}},
            "its service manager does not answer",
        ),
        ({"services": {"nginx": "activating"}}, {"services": {"nginx": "failed"}}, "nginx failed"),
        ({"containers": {"shop": "running"}}, {"containers": {"shop": "unhealthy"}}, "shop failed"),
        ({}, {"failed_units": ("a.service", "b.timer")}, "a, b.timer failed"),
        ({}, {"failed_units": ("a", "b", "c", "d", "e")}, "a, b, c and 2 more failed"),
    ],
)
def test_each_problem_begins_at_its_figure_and_is_said_in_words(just, wrong, said):
    assert (words(**just), words(**wrong)) == ([], [said])


def test_the_grave_ones_are_said_first():
    told = problems_of(AgentMetrics(cpu_percent=99, disks={"/": 91, "/var": 98}, services={"nginx": "failed"}), 60)
    assert [(problem.words, problem.grave) for problem in told] == [
        ("nginx failed", True),
        ("/var 98 % full", True),
        ("CPU 99 %", False),
        ("/ 91 % full", False),
        ("clock 60 s off", False),
    ]


def test_silence_has_its_beginning():
    assert (silent_since(7).words, silent_since(7).since, silent_since(7).grave) == ("not connected since", 7, True)


@pytest.mark.parametrize(
    ("rule_id", "metrics"),
    [
        ("default-cpu", {"cpu_percent": 90}),
        ("default-cpu", {"cpu_percent": 90.1}),
        ("default-memory", {"mem_percent": 90}),
        ("default-memory", {"mem_percent": 90.1}),
        ("default-disk", {"disks": {"/": 89.9}}),
        ("default-disk", {"disks": {"/": 90}}),
        ("default-inodes", {"metrics": {"inodes./.percent": 89.9}}),
        ("default-inodes", {"metrics": {"inodes./.percent": 90}}),
        ("default-read-only", {"metrics": {"disk./.read_only": 1}}),
        ("default-service-manager", {"metrics": {"service_manager.hung_s": 59}}),
        ("default-service-manager", {"metrics": {"service_manager.hung_s": 60}}),
    ],
)
def test_a_problem_is_where_the_default_rule_about_it_would_begin(rule_id, metrics):
    readings = of_report(Measurement(**metrics))
    condition = parse(DEFAULT_RULES[rule_id].condition)
    verdicts = [condition.bind(name).evaluate(readings) for name in condition.bindings(readings)] or [
        condition.evaluate(readings)
    ]
    assert bool(words(**metrics)) == any(verdicts)
