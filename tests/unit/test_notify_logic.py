"""Grouping, quiet hours, routing, back-off and texts: pure tables."""

import itertools
import math
import re
from dataclasses import replace
from datetime import datetime
from urllib.parse import unquote
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opsapp.notify.logic import destinations, messagegroups, quiet, rank, texts
from opsapp.notify.logic.reasons import reason_of
from opsapp.notify.logic.settings import RetrySettings
from opsapp.notify.records import ChannelRecord

WAIT, EVERY = 5.0, 60.0


def row(kind="incident.opened", severity="critical", title="Shop is down", **more):
    return messagegroups.Told(**{"at": 0.0, "key": "k", "kind": kind, "severity": severity, "title": title} | more)


def play(*rows):
    """(time, row) in order; the messages that come of them as (time, kind, severity, events)."""
    group, sent = None, []

    def until(now):
        nonlocal group
        while group is not None and messagegroups.agenda(group, EVERY) <= now:
            at = messagegroups.agenda(group, EVERY)
            if group.due is None:
                group = None
            else:
                sent.append((at, group.kind, group.severity, group.events))
                group = messagegroups.told(group, "m", at)

    for at, each in rows:
        until(at)
        group = messagegroups.gather(group, each._replace(at=at), messagegroups.NOTHING, at, WAIT, EVERY)
    until(1e9)
    return sent


def gather(group, row, now, again=False):
    """A row whose own beginning is known where its group counts any: in these stories each begins once."""
    others = group.open if group else 0
    own = bool(others) and (again or row.phase == "over")
    return messagegroups.gather(group, row, messagegroups.Before(own, others - own), now, WAIT, EVERY)


class TestGrouping:
    def test_one_row_is_one_message_after_a_moment(self):
        assert play((0, row())) == [(5, "incident.opened", "critical", 1)]

    def test_a_storm_of_one_kind_is_one_message(self):
        assert play(*((n / 1000, row()) for n in range(10_000))) == [(5, "incident.opened", "critical", 5000)]

    def test_what_goes_on_is_told_once_a_minute(self):
        sent = play(*((float(n), row()) for n in range(300)))
        times = [at for at, *_ in sent]
        assert 4 <= len(sent) <= 5
        assert all(later - sooner >= EVERY for sooner, later in itertools.pairwise(times))

    def test_news_waits_for_its_minute(self):
        sent = play((0, row()), (20, row("incident.resolved", "info")))
        assert sent == [(5, "incident.opened", "critical", 1), (65, "incident.resolved", "info", 1)]

    def test_what_came_back_to_what_was_told_is_no_news(self):
        assert play((0, row()), (20, row("incident.resolved", "info")), (30, row())) == [
            (5, "incident.opened", "critical", 1)
        ]

    def test_a_higher_severity_is_news_and_a_lower_one_is_none(self):
        assert play((0, row(severity="warning")), (20, row(severity="info"))) == [(5, "incident.opened", "warning", 1)]

    def test_what_is_more_severe_waits_for_no_minute(self):
        sent = play((0, row(severity="warning")), (20, row(severity="critical")))
        assert sent[1][:3] == (25, "incident.opened", "critical")
        sent = play((0, row(severity="warning")), (10, row("b", "warning")), (20, row(severity="critical")))
        assert sent[1:] == [(25, "incident.opened", "critical", 2)]

    def test_a_short_blip_is_told_as_what_it_ended_with(self):
        assert play((0, row()), (1, row("incident.resolved", "info"))) == [(5, "incident.resolved", "info", 2)]

    def test_later_rows_bring_their_tags_and_titles(self):
        group = gather(None, row(tags=("db",)), 0)
        group = gather(group, row(tags=("web",), title="Blog is down"), 1)
        assert (group.tags, group.titles) == (("db", "web"), ("Shop is down", "Blog is down"))

    def begins(self, name="shop", **more):
        return row(key=f"incident:{name}", title=f"{name} is down", phase="begins", name=name, **more)

    def over(self, name="shop", **more):
        return row("incident.resolved", key=f"incident:{name}", title=f"{name} is up", phase="over", name=name, **more)

    def moved(self, name, root="db"):
        """What has gathered under a dependant's own key, as it joins the group of the root cause."""
        return gather(None, self.begins(name), 0)

    def test_what_has_one_root_cause_begins_once_and_is_over_once_in_the_words_of_the_root(self):
        group = gather(None, self.begins("db"), 0)
        for name in ("a", "b"):
            group = messagegroups.join(group, self.moved(name), 1, 0, EVERY)
        assert (group.title, group.events) == ("db is down", 3)
        group = messagegroups.told(group, "m", 5)
        group = messagegroups.join(group, self.moved("c"), 900, 0, EVERY)  # long after
        assert (group.due, group.absorbed, group.open) == (None, 1, 4)
        assert messagegroups.agenda(group, EVERY) == math.inf
        for name in ("a", "db", "c"):
            group = gather(group, self.over(name), 1000)
            assert group.due is None
        group = gather(group, self.over("b"), 1300)
        assert (group.title, group.kind, group.open) == ("db is up", "incident.resolved", 0)
        assert group.due <= 1300

    def test_the_root_speaks_whoever_was_first(self):
        group = self.moved("a")._replace(root="db")
        group = gather(group, self.begins("db"), 1)
        assert (group.title, group.events) == ("db is down", 2)
        group = gather(group, self.begins("b"), 1)
        assert (group.title, group.events) == ("db is down", 3)

    def test_the_last_one_speaks_where_the_root_says_nothing(self):
        group = messagegroups.told(self.moved("a")._replace(root="uplink"), "m", 5)
        group = gather(group, self.over("a"), 100)
        assert group.title == "a is up"

    def test_what_also_tells_of_it_is_no_news_and_opens_nothing(self):
        also = row("heal.notified", key="heal:shop", phase="also", name="shop", severity="warning")
        group = messagegroups.told(gather(None, self.begins(), 0), "m", 5)
        assert gather(group, also, 6).due is None
        assert gather(group, also, 600).open == group.open
        worse = messagegroups.told(gather(None, self.begins(severity="warning"), 0), "m", 5)
        assert gather(worse, also._replace(severity="critical", at=6), 6).due == 11
        alone = gather(None, also, 0)
        assert (alone.due, alone.open) == (5, 0)

    def test_what_begins_again_after_an_end_that_nobody_was_told_of_is_told(self):
        group = messagegroups.told(gather(None, self.begins(), 0), "m", 5)
        assert gather(group, self.begins(), 30, again=True).due is None
        again = gather(group, self.begins(at=600), 600, again=True)
        assert (again.due, again.title) == (605, "shop is down")

    def test_the_end_that_comes_before_the_beginning_was_told_counts(self):
        group = messagegroups.join(gather(None, self.begins("db"), 0), self.moved("a"), 1, 0, EVERY)
        group = gather(group, self.over("a"), 2)
        assert (group.title, group.events, group.open) == ("db is down", 3, 1)

    def test_only_a_beginning_that_nobody_was_told_of_waits_for_its_root_cause(self):
        group = gather(None, self.begins(), 0)
        assert messagegroups.may_wait(group)
        assert messagegroups.postponed(group, 5).due == 5 + messagegroups.LOOK_AGAIN_S
        assert not messagegroups.may_wait(messagegroups.told(group, "m", 5))
        assert not messagegroups.may_wait(gather(None, row(), 0))

    def test_joining_adds_up(self):
        home = gather(None, row(), 0)
        other = gather(gather(None, row(title="B"), 0), row(title="C"), 1)
        joined = messagegroups.join(home, other, 2, WAIT, EVERY)
        assert (joined.events, joined.titles) == (3, ("Shop is down", "C", "B"))
        told = messagegroups.told(home, "m", 5)
        assert messagegroups.join(told, other, 6, WAIT, EVERY).absorbed == 2

    @settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
    @given(
        st.lists(
            st.tuples(st.floats(0, 30), st.sampled_from(["a", "b"]), st.sampled_from(["info", "warning", "critical"])),
            min_size=1,
            max_size=15,
        )
    )
    def test_two_messages_of_a_key_within_a_minute_are_more_severe_each_and_the_first_row_is_told(self, steps):
        rows, now = [], 0.0
        for pause, kind, severity in steps:
            now += pause
            rows.append((now, row(kind, severity)))
        sent = play(*rows)
        assert sent
        for sooner, later in itertools.pairwise(sent):
            assert later[0] - sooner[0] >= EVERY - 1e-6 or rank(later[2]) > rank(sooner[2])
        assert sum(events for *_, events in sent) <= len(rows)


NIGHT = quiet.QuietHours("22:00", "07:00", "Europe/Berlin")
BERLIN = ZoneInfo("Europe/Berlin")


def at(text, fold=0):
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN, fold=fold).timestamp()


class TestQuietHours:
    @pytest.mark.parametrize(
        ("now", "until"),
        [
            ("2026-01-10T21:59", None),
            ("2026-01-10T22:00", "2026-01-11T07:00"),
            ("2026-01-11T06:59", "2026-01-11T07:00"),
            ("2026-01-11T07:00", None),
            # The night in which the clocks go forward, and the one in which they go back.
            ("2026-03-28T23:00", "2026-03-29T07:00"),
            ("2026-10-24T23:00", "2026-10-25T07:00"),
            ("2028-02-28T23:00", "2028-02-29T07:00"),
            ("2028-02-29T23:00", "2028-03-01T07:00"),
        ],
    )
    def test_a_night(self, now, until):
        assert quiet.quiet_until(NIGHT, "warning", at(now), "UTC") == (until and at(until))

    def test_what_is_critical_goes_through(self):
        assert quiet.quiet_until(NIGHT, "critical", at("2026-01-10T23:00"), "UTC") is None

    def test_days_are_those_on_which_it_begins(self):
        saturday = replace(NIGHT, days=("sat",))  # 10 January 2026 is one
        assert quiet.quiet_until(saturday, "info", at("2026-01-11T03:00"), "UTC") == at("2026-01-11T07:00")
        assert quiet.quiet_until(saturday, "info", at("2026-01-11T23:00"), "UTC") is None

    def test_a_day_of_its_own_and_a_whole_one(self):
        lunch = replace(NIGHT, start="12:00", end="13:00")
        assert quiet.quiet_until(lunch, "info", at("2026-01-10T12:30"), "UTC") == at("2026-01-10T13:00")
        whole = replace(NIGHT, start="00:00", end="00:00")
        assert quiet.quiet_until(whole, "info", at("2026-01-10T12:30"), "UTC") == at("2026-01-11T00:00")

    def test_hours_that_a_change_of_the_clock_skips_or_doubles(self):
        skipped = replace(NIGHT, start="02:30", end="04:00")
        assert quiet.quiet_until(skipped, "info", at("2026-03-29T03:45"), "UTC") == at("2026-03-29T04:00")
        doubled = replace(NIGHT, start="01:00", end="02:30")
        assert quiet.quiet_until(doubled, "info", at("2026-10-25T02:29"), "UTC") == at("2026-10-25T02:30")
        assert quiet.quiet_until(doubled, "info", at("2026-10-25T02:45", fold=1), "UTC") is None

    def test_without_a_zone_of_its_own_the_services_counts(self):
        here = replace(NIGHT, timezone=None)
        assert quiet.quiet_until(here, "info", at("2026-01-10T22:30"), "UTC") is None
        assert quiet.quiet_until(here, "info", at("2026-01-10T22:30"), "Europe/Berlin") == at("2026-01-11T07:00")

    def test_nobody_asked_for_quiet(self):
        assert quiet.quiet_until(None, "info", 0, "UTC") is None


class TestDelivering:
    CHANNEL = ChannelRecord("ops", severities=("warning", "critical"), tags=("db",))

    @pytest.mark.parametrize(
        ("change", "severity", "tags", "takes"),
        [
            ({}, "critical", ("db", "web"), True),
            ({}, "critical", ("web",), False),
            ({}, "critical", (), False),
            ({}, "info", ("db",), False),
            ({"tags": ()}, "warning", (), True),
            ({"enabled": False}, "critical", ("db",), False),
        ],
    )
    def test_routing(self, change, severity, tags, takes):
        assert destinations.takes(replace(self.CHANNEL, **change), message(severity=severity, tags=tags)) is takes

    @pytest.mark.parametrize(
        ("name", "enabled", "takes"), [("ops", True, True), ("ops", False, False), ("x", True, False)]
    )
    def test_a_message_for_a_named_channel_is_for_that_one(self, name, enabled, takes):
        meant = message(severity="info", tags=("channel:ops",))
        assert destinations.takes(replace(self.CHANNEL, name=name, enabled=enabled), meant) is takes

    def test_pauses_double_up_to_the_longest_and_end(self):
        retry = RetrySettings(first_s=5, longest_s=60, for_s=300)
        pauses = [destinations.retry_at(n, 0.0, 100.0, retry) - 100 for n in range(1, 7)]
        assert pauses == [5, 10, 20, 40, 60, 60]
        assert destinations.retry_at(1, 0.0, 296.0, retry) is None
        assert destinations.retry_at(5000, 0.0, 0.0, retry) == 60

    @pytest.mark.parametrize(
        "url",
        [
            "slack://TokenAAAA/TokenBBBB/TokenCCCC/#general",
            "mailtos://user:pass%40word@mail.example.org?to=oncall@example.org",
            "json://127.0.0.1:8080/hooks/s3cr3t-token",
        ],
    )
    def test_an_error_tells_nothing_of_the_address(self, url):
        rest = url.partition("://")[2]
        told = destinations.without_address(f"Connecting to {url} ({rest}, {unquote(rest)}) timed out", url)
        for part in re.split(r"[/:@?&=#,]+", rest + "/" + unquote(rest)):
            assert len(part) < 4 or part not in told
        assert "timed out" in told

    def test_a_long_error_is_cut(self):
        assert len(destinations.without_address("x" * 5000, "json://h")) == 500


def message(**more):
    about = {"key": "k", "kind": "incident.opened", "severity": "critical", "title": "Shop is down", "text": "HTTP 500"}
    return texts.MessageContent(**about | {"titles": ("Shop is down",), "last_at": 90.0} | more)


class TestTexts:
    def test_one_message(self):
        title, text, mood = texts.written([message()], "UTC")
        assert (title, mood) == ("[critical] Shop is down", "failure")
        assert text == "HTTP 500\n1970-01-01 00:01:30 UTC"

    def test_the_title_is_one_line_whatever_others_called_themselves(self):
        title, _, _ = texts.written([message(title="web\r\nBcc: eve\u202e")], "UTC")
        assert title == "[critical] web\ufffd\ufffdBcc: eve\ufffd"

    def test_many_events_name_the_others_and_the_cause(self):
        many = message(events=40, titles=("Shop is down", "Blog is down"), cause="router")
        _, text, _ = texts.written([many], "UTC")
        assert "Root cause: router" in text
        assert "- Blog is down" in text
        assert "- Shop is down" not in text
        assert "40 events since 1970-01-01 00:00:00 UTC" in text

    def test_good_news_is_a_success(self):
        assert texts.mood(message(kind="incident.resolved", severity="info")) == "success"
        assert texts.mood(message(kind="heal.notify", severity="warning")) == "warning"

    def test_a_digest_tells_each_and_its_worst(self):
        title, text, mood = texts.written([message(severity="info"), message(severity="warning")], "UTC")
        assert (title, mood) == ("2 messages, the worst warning", "warning")
        assert text.count("Shop is down") == 2
        _, text, _ = texts.written([message()] * 60, "UTC")
        assert text.endswith("and 10 more")

    def test_a_digest_is_green_only_where_all_of_it_is_good_news(self):
        good, bad = message(kind="incident.resolved"), message(kind="heal.unresolved", severity="warning")
        assert texts.written([good, good], "UTC")[::2] == ("2 messages, all good", "success")
        for several in ([good, bad], [bad, good]):
            assert texts.written(several, "UTC")[::2] == ("2 messages, the worst warning", "warning")


@pytest.mark.parametrize(
    ("channel", "about", "takes"),
    [
        ({}, {}, True),
        ({"enabled": False}, {}, False),
        ({}, {"severity": "info"}, False),
        ({"tags": ["web"]}, {"tags": ["db"]}, False),
        ({"tags": ["web"]}, {"tags": ["db", "web"]}, True),
        ({"severities": []}, {"tags": ["channel:mail"]}, True),
        ({"enabled": False}, {"tags": ["channel:mail"]}, False),
        ({}, {"tags": ["channel:chat"]}, False),
    ],
)
def test_which_channel_a_message_is_for(channel, about, takes):
    mail = ChannelRecord("mail", severities=("critical",))
    assert destinations.takes(replace(mail, **channel), message(**about)) is takes


POOL = "A Connection error occurred sending JSON notification to [redacted].; HTTPConnectionPool(host='[redacted]'): "


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (POOL + "NewConnectionError: [Errno 111] Connection refused", "refused"),
        ('Connection error while submitting email to "[redacted]"; [Errno 111] Connection refused', "refused"),
        (POOL + "NameResolutionError([Errno -2] Name or service not known)", "name in its address"),
        (POOL + "Read timed out. (read timeout=4.0)", "in time"),
        ("no answer within 2 s", "in time"),
        (POOL + "SSLError(1, '[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)')", "TLS"),
        (POOL + "SSLError('[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed')", "certificate is not trusted"),
        ("('Connection aborted.', RemoteDisconnected('Remote end closed connection'))", "closed the connection"),
        ("DeniedNetwork: 10.0.0.1 is in a network that monitoring.deny_networks names", "monitoring.deny_networks"),
        ("Failed to send JSON POST notification: Verification Failed., error=401.", "password or token (HTTP 401)"),
        ("Failed to send JSON POST notification: error=302.", "moved to another address"),
        ("Failed to send JSON POST notification: Servers are overloaded., error=503.", "error of its own (HTTP 503)"),
        ("Failed to send JSON POST notification: error=418.", "did not accept the message (HTTP 418)"),
        ("KeyError: 'x'", "It did not accept the message."),
    ],
)
def test_why_a_message_was_not_taken_is_a_sentence_without_the_librarys_words(error, said):
    sentence = reason_of(error)
    assert said in sentence
    assert sentence[0].isupper()
    assert sentence.endswith((".", "?"))
    assert not re.search(r"Errno|Pool|Error\(|error=|redacted", sentence)


@pytest.mark.parametrize("words", ["the channel is gone", "450 4.2.0 greylisted, come back"])
def test_what_is_said_in_words_stays_as_it_is(words):
    assert reason_of(words) == words[0].upper() + words[1:] + "."
