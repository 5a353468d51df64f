"""Targets, actions and conditions in words: nobody has to know the condition language to read a message."""

import pytest

from opsapp.wire.spoken import READABLE, spoken_action, spoken_condition, spoken_target


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("cpu_percent > 90", "CPU in use is above 90 %"),
        ("90 < cpu_percent", "90 is below CPU in use"),
        ("disk./.percent >= 92.5", "disk in use is at least 92.5 %"),
        ("disk.*.percent <= 3", "disk in use is at most 3 %"),
        ('service.nginx.state != "active"', "service state is not active"),
        ('monitor.status == "down"', "monitor state is down"),
        ("cert_days < 14", "time until the certificate ends is below 14 days"),
        ("disk./srv.read_only == 1", "disk is read-only"),
        ("disk./srv.read_only > 0", "disk is read-only"),
        ("service.*.failed == 0", "not (service has failed)"),
        ("service.x.failed == 7", "service has failed is 7"),
        ("plugin.depth > 5", "figure of a plugin (depth) is above 5"),
        ('event.labels.team == "db"', "label of the event (team) is db"),
        ('event.0123456789abcdef.name == "Full"', "name of the event is Full"),
        ("vpn.wg0.up == 0", "vpn up is 0"),
        ("memory_percent > 90", "memory percent is above 90"),
        ("load1 > load5", "load of 1 min is above load of 5 min"),
        ("cpu_percent > mem_percent", "CPU in use is above memory in use"),
        ('service.a.state == "failed" and service.b.failed == 1',
         "service state (a) is failed and service has failed (b)"),
        ("not (load1 > 4) and (cpu_percent > 90 or mem_percent > 80)",
         "not (load of 1 min is above 4) and (CPU in use is above 90 % or memory in use is above 80 %)"),
        ("what nobody can read", "what nobody can read"),
    ],
)  # fmt: skip
def test_a_condition_in_words(condition, words):
    assert spoken_condition(condition) == words


@pytest.mark.parametrize("name", [name for name in READABLE if name[-1] != "*"])
def test_what_can_be_picked_has_words_without_its_name(name):
    assert name not in spoken_condition(f"{name} == 2")


@pytest.mark.parametrize(
    ("target", "words"),
    [("h3", "h3"), ("h3/nginx", "h3/nginx"), ("h3//", "/ on h3"), ("h3//srv/data", "/srv/data on h3"),
     ("Shop / Berlin", "Shop / Berlin")],
)  # fmt: skip
def test_a_path_is_told_with_its_host(target, words):
    assert spoken_target(target) == words


def test_an_action_in_words():
    assert spoken_action("service_reset_failed") == "service reset failed"
