"""A condition as outcomes are counted under it."""

import pytest

from opsapp.healing.logic.rules import readings_of, told_of


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cpu_percent>90", ("cpu_percent > 90",)),
        ("service.nginx.failed==1", ("service.nginx.failed == 1", "service.*.failed == 1")),
        ("service.*.failed == 1", ("service.*.failed == 1",)),
        ("disk./var.percent >= 90", ("disk./var.percent >= 90", "disk.*.percent >= 90")),
        (
            'container.web.state == "exited" or container.web.state == "dead"',
            (
                'container.web.state == "exited" or container.web.state == "dead"',
                'container.*.state == "exited" or container.*.state == "dead"',
            ),
        ),
        (
            "service.nginx.failed == 1 and cpu_percent > 90",
            ("service.nginx.failed == 1 and cpu_percent > 90", "service.*.failed == 1 and cpu_percent > 90"),
        ),
        ("no condition at all >", ("no condition at all >",)),
    ],
)
def test_as_it_is_written_and_as_a_rule_about_all_of_them_says_it(text, told):
    assert told_of(text) == told


def test_the_readings_of_a_condition_that_only_others_tell_are_the_condition():
    text = 'event.name == "DiskFull"'
    assert readings_of(text) == {text}
    assert readings_of("disk./var.percent > 90") == {"disk.percent"}
