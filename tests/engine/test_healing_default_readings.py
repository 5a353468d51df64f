"""The default rules about what nobody was told of: each tells its cause in a sentence, and takes no step."""

import pytest

from opsapp.healing.engine.default_rules import DEFAULT_RULES
from opsapp.notify.resources import inbox
from opsapp.wire.causes import LOOKS
from opsapp.wire.spoken import spoken_target
from tests.support.hosts import TOOLS, place

CLOCK = {"seconds": "301", "side": "ahead of", "synchronised": "it is not synchronised"}
CASES = {
    "default-masked": (
        {"service.nginx.state": "masked", "service.nginx.masked": 1.0}, {"service.nginx.state": "active"},
        "box-1/nginx",
        {"service": "nginx"}, {"id": "masked", "fields": {"service": "nginx"}},
        "nginx is masked: nothing can start it until somebody unmasks it",
    ),
    "default-inodes": (
        {"inodes./srv.percent": 97.0}, {"inodes./srv.percent": 20.0}, "box-1//srv",
        {"mount": "/srv"}, {"id": "inodes_full", "fields": {"mount": "/srv", "percent": "97", "largest": "/srv/a (9)"}},
        "/srv has used 97 % of its inodes: the most files are in /srv/a (9)",
    ),
    "default-read-only": (
        {"disk./srv.read_only": 1.0}, {"disk./srv.read_only": 0.0}, "box-1//srv",
        {"mount": "/srv"}, {"id": "read_only", "fields": {"mount": "/srv"}},
        "/srv is mounted read-only, and nothing can write there",
    ),
    "default-clock": (
        {"clock_off_s": 301.0}, {"clock_off_s": 0.1}, "box-1",
        {"service": "systemd-timesyncd", "clock": True}, {"id": "clock_apart", "fields": CLOCK},
        "the host's clock is 301 s ahead of that of the service, and it is not synchronised",
    ),
}  # fmt: skip


@pytest.fixture
def make(ward):
    def build(rule_id, usable):
        return ward({"id": rule_id, **DEFAULT_RULES[rule_id].stored()}, places=(place(usable=usable),))

    return build


def told(here):
    return [message for message in here.node.transact(inbox.take, 10_000) if message.title]


@pytest.mark.parametrize("rule_id", CASES)
def test_the_cause_is_told_in_a_sentence_and_the_end_too(make, rule_id):
    ill, well, target, asked, cause, sentence = CASES[rule_id]
    here = make(rule_id, TOOLS | {LOOKS}).report(**well).turn()
    for _ in range(150):
        here.pass_time(1, **ill)
        if "look" in here.hosts.phases():
            break
    assert here.hosts.waiting("look")["params"]["params"] == asked
    here.hosts.finish("look", cause=cause)
    here.pass_time(1, **ill)
    [message] = told(here)
    assert (message.kind, message.title) == ("heal.notified", f"{spoken_target(target)}: {sentence}")
    assert message.text.startswith(f"Cause: {sentence}.\n")
    here.pass_time(5, **well)
    assert [message.title for message in told(here)] == [f"{spoken_target(target)}: over"]
    assert here.hosts.phases() == ["look"]


@pytest.mark.parametrize("rule_id", CASES)
def test_an_agent_that_cannot_look_leaves_what_the_rule_finds(make, rule_id):
    ill, well, target, *_ = CASES[rule_id]
    here = make(rule_id, TOOLS).report(**well).turn().pass_time(150, step=15, **ill)
    [message] = told(here)
    sentence = DEFAULT_RULES[rule_id].description
    assert (message.kind, message.title) == ("heal.notified", f"{spoken_target(target)}: {sentence}")


@pytest.mark.parametrize("rule_id", CASES)
def test_what_an_older_agent_does_not_send_is_unknown(make, rule_id):
    """It says that a unit is masked, and not whether it ran."""
    here = make(rule_id, TOOLS | {LOOKS}).pass_time(
        150, step=15, **{"service.nginx.state": "masked", "disk./.percent": 5}
    )
    assert (told(here), here.hosts.phases()) == ([], [])


INODES, READ_ONLY = "inodes./srv.percent", "disk./srv.read_only"
BOTH = {INODES: 97.0, READ_ONLY: 1.0}


@pytest.fixture
def two(ward):
    rules = [{"id": rule_id, **DEFAULT_RULES[rule_id].stored()} for rule_id in ("default-inodes", "default-read-only")]
    return ward(*rules, places=(place(usable=TOOLS),)).report(**{INODES: 20.0, READ_ONLY: 0.0}).turn()


@pytest.mark.parametrize("first", [INODES, READ_ONLY])
@pytest.mark.parametrize(
    ("over", "still"), [({INODES: 20.0}, "default-read-only"), ({READ_ONLY: 0.0}, "default-inodes")]
)
def test_of_two_rules_about_one_file_system_the_one_that_still_holds_is_told(two, first, over, still):
    """They are one case. That one of them is over says nothing of the other."""
    two.pass_time(31 if first == INODES else 29, **{INODES: 97.0, READ_ONLY: 0.0}).pass_time(2, **BOTH)
    [case] = two.cases
    assert (case["state"], len(case["events"]), case["condition"].split()[0]) == ("correlating", 2, first)
    two.pass_time(10, **BOTH | over)
    assert [message.title for message in told(two)] == [f"/srv on box-1: {DEFAULT_RULES[still].description}"]


def test_what_the_case_of_another_rule_has_taken_in_is_told_when_the_window_is_over(two):
    """No rule waits out its cooldown for what nothing was done about and nobody was told of."""
    two.pass_time(140, **BOTH)
    rules = ("default-read-only", "default-inodes")
    assert [message.title for message in told(two)] == [
        f"/srv on box-1: {DEFAULT_RULES[rule].description}" for rule in rules
    ]
