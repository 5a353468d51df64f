"""What a monitor may be: addresses by type, and no text that breaks what reads it."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opsapp.monitoring.logic.quorum import decide
from opsapp.monitoring.logic.settings import (
    NOTHING,
    MonitorDefaults,
    MonitoringSettings,
    MonitorSettings,
    complete,
    problems,
    searched,
)
from opsapp.wire.monitortypes import TYPES, every_own
from opsapp.wire.records import DeclaredObject, made, parts_of

URLISH = st.one_of(
    st.text(),
    st.builds("{}://{}".format, st.sampled_from(["http", "https", "tcp", "ping", "dns", "tls"]), st.text()),
    st.from_regex(r"(http|dns|tcp)://[\w\[\]:.@%-]{0,20}(:\d{0,7})?(/.{0,10})?", fullmatch=True),
)


@given(st.sampled_from(list(TYPES)), URLISH)
@example("http", "http://[")
@example("http", "http://[::1")
@example("http", "http://[v1.x]/")
@example("http", "http://a..b/")
@example("http", "http://xn--/")
@example("http", "http://\u2100.example/")
@example("tcp", "tcp://a:99999")
@example("dns", "dns://a/" + "x" * 300)
def test_any_text_is_an_address_or_has_a_reason(kind, url):
    assert TYPES[kind].url_problem(url) is None or TYPES[kind].url_problem(url)


@pytest.mark.parametrize(
    ("kind", "url"),
    [
        ("http", "http://box-1/"),
        ("http", "https://user:pw@example.org:8443/a/b?c=d#e"),
        ("http", "http://[2001:db8::1]:80/"),
        ("http", "http://under_score.example/"),
        ("ping", "ping://example.org."),
        ("dns", "dns://[::1]:53/_sip._tcp.example.org?type=SRV"),
        ("push", ""),
    ],
)
def test_right_addresses(kind, url):
    assert TYPES[kind].url_problem(url) is None


@pytest.mark.parametrize(
    ("given_", "timeout"), [({"interval": 5}, 4), ({"interval": 60}, 10), ({"interval": 5, "timeout": 9}, 9)]
)
def test_the_time_out_follows_the_interval(given_, timeout):
    assert complete({"name": "a", "type": "http"} | given_).timeout == timeout


def test_defaults_of_the_service_come_before_ours():
    assert complete({"name": "a"}, MonitorDefaults(retries=5)).retries == 5


@pytest.mark.parametrize("address", ["dns://a/b", "agent://a", "http://", "nothing"])
def test_only_what_can_be_reached_tells_of_our_own_network(address):
    section, wrong = DeclaredObject(MonitoringSettings), {}
    section.read({"connectivity": [address], "defaults": {}}, "", wrong)
    assert wrong.keys() == {"connectivity.0"}
    values = section.read({"connectivity": ["https://a/", "ping://b"], "defaults": {}}, "", {})
    assert [target.type for target in made(MonitoringSettings, values).references()] == ["http", "ping"]


def test_a_quorum_needs_enough_agents():
    assert problems(replace(NOTHING, probe_from=("a",), quorum=2)).keys() == {"quorum"}
    assert problems(replace(NOTHING, quorum=2)) == {}


@given(st.lists(st.sampled_from([True, False, None])), st.integers(1, 5))
def test_a_quorum_is_never_of_fewer(seen, quorum):
    verdict = decide(seen, quorum)
    assert (verdict is False) == (seen.count(False) >= quorum)
    if verdict:
        assert True in seen


def test_what_viewers_see():
    settings = MonitorSettings(name="Shop", type="http", url="http://u:p@h:1/x?y", headers={"A": "b"})
    assert settings.for_viewers == replace(settings, url="http://***@h:1/x?***", headers={"A": "***"})


@pytest.mark.parametrize("name", [setting.name for setting in parts_of(every_own())])
def test_no_setting_of_a_type_shows_viewers_a_secret(name):
    assert "hidden" not in str(replace(NOTHING, **{name: ["http://u:hidden@h/"]}).for_viewers)


def test_words_are_looked_for_in_what_all_may_see():
    assert searched("Shop", "http://u:p@h:1/x?y", ["A"]) == "shop http://***@h:1/x?*** a"


def test_one_way_to_say_which_statuses_are_accepted():
    assert problems(replace(NOTHING, expected_status=200, accepted_statuses=("301",))).keys() == {"accepted_statuses"}
    assert problems(replace(NOTHING, accepted_statuses=("301",))) == {}
    assert problems(replace(NOTHING, method="HEAD", body="{}")).keys() == {"body"}


@pytest.mark.parametrize(
    ("ranges", "wrong"),
    [(["200-299", "401"], set()), (["299-200"], {"accepted_statuses"}), (["2xx"], {"accepted_statuses.0"}),
     (["200", "600"], {"accepted_statuses.1"}), (["200-"], {"accepted_statuses.0"})],
)  # fmt: skip
def test_accepted_statuses_are_codes_and_ranges(ranges, wrong):
    mistakes = {}
    DeclaredObject(MonitorSettings).read({**MonitorSettings.sample, "accepted_statuses": ranges}, "", mistakes)
    assert mistakes.keys() == wrong


@pytest.mark.parametrize(
    ("given_", "sent"),
    [
        ({"body": "{}"}, {"Content-Type": "application/json"}),
        ({"body": "<a/>", "content_type": "text/xml"}, {"Content-Type": "text/xml"}),
        ({"body": "{}", "headers": {"content-type": "text/a"}}, {"content-type": "text/a"}),
        ({"headers": {"X-A": "b"}}, {"X-A": "b"}),
    ],
)
def test_a_body_is_sent_with_what_it_is(given_, sent):
    assert complete({"name": "a", "type": "http"} | given_).sent_headers == sent
