"""Audit entries for another system: addresses of receivers, messages, and what comes after what was taken."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opsapp.audit.logic import syslog
from opsapp.audit.logic.receivers import receiver_problem, syslog_receiver
from opsapp.audit.resources import log as logs
from opsapp.audit.resources.log import Log

ENTRY = {
    "id": "abc", "time": 1767225600.25, "username": "ada", "ip": "192.0.2.7", "action": "monitor.update",
    "target": "shop", "result": "ok", "reason": None, "before": {"name": "Laden"}, "after": {"name": "Läden \n"},
}  # fmt: skip
RFC5424 = re.compile(rb"<(\d{1,3})>1 (\S+) (\S+) (\S+) (\S+) (\S+) - (.*)", re.DOTALL)


def test_a_message_is_of_rfc_5424_and_holds_the_entry_as_json():
    priority, at, host, program, process, kind, text = RFC5424.fullmatch(syslog.message(ENTRY, "node-1")).groups()
    assert (int(priority), at, host) == (13 * 8 + 5, b"2026-01-01T00:00:00.250Z", b"node-1")
    assert (program, process, kind) == (b"opsapp", b"-", b"audit")
    assert json.loads(text) == ENTRY | {"time": 1767225600}
    assert b"\n" not in text
    assert text.isascii()


def test_a_refusal_is_a_warning():
    assert syslog.message(ENTRY | {"result": "refused"}, "n").startswith(b"<108>1 ")


@pytest.mark.parametrize("text", ["x" * 50_000, "\U0001f600" * 50_000, "\x01" * 50_000])
def test_what_is_too_long_for_a_receiver_says_that_it_was_cut(text):
    long = ENTRY | dict.fromkeys(("username", "ip", "action", "target", "reason", "after"), text)
    message = syslog.message(long, "n" * 63)
    said = json.loads(RFC5424.fullmatch(message)[7])
    assert len(message) <= syslog.LONGEST
    assert (said["id"], said["cut"], said["before"], said["after"]) == ("abc", True, None, None)
    assert said["target"] == text[: syslog.CLIPPED]


def test_a_frame_counts_octets():
    assert syslog.frame(b"<1>1 x") == b"6 <1>1 x"


def test_ports_that_are_left_out_are_the_usual_ones():
    assert syslog_receiver("syslog+udp://logs.example.org").port == 514
    assert syslog_receiver("syslog+tcp://[2001:db8::1]").port == 601
    assert syslog_receiver("syslog+tls://logs.example.org").port == 6514
    assert syslog_receiver("syslog+tls://logs.example.org:7000").port == 7000
    assert syslog_receiver("unix:///dev/log").path == "/dev/log"


@pytest.mark.parametrize("url", [
    "https://logs.example.org/opsapp?stream=audit", "http://127.0.0.1:8080/", "syslog+tls://logs.example.org:6514",
    "syslog+tcp://10.0.0.1", "syslog+udp://[::1]:514/", "unix:///run/systemd/journal/syslog",
])  # fmt: skip
def test_an_address_of_a_receiver(url):
    assert receiver_problem(url) is None


@pytest.mark.parametrize(("url", "said"), [
    ("ftp://logs.example.org", "must begin with"), ("logs.example.org:514", "must begin with"),
    ("syslog+tcp://logs.example.org:ten", "is not a URL"), ("syslog+tcp://", "names no host"),
    ("syslog+tcp://user@logs.example.org", "a host and a port"), ("syslog+udp://logs/path", "a host and a port"),
    ("https://user:pw@logs.example.org/", "must not hold credentials"), ("unix://dev/log", "must be like"),
    ("unix:///", "must be like"), ("unix:///dev/log?x=1", "must be like"),
])  # fmt: skip
def test_what_is_no_address_of_a_receiver(url, said):
    assert said in receiver_problem(url)


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(0, 65), st.integers(-1, 70), st.booleans())
def test_what_comes_after_a_number_is_what_a_plain_walk_gives(count, taken, retired, late):
    """However many are folded and gone, also when some went before there were blocks."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(logs, "FOLD", 3)
        patched.setattr(logs, "SHELF", 2)
        log = Log()
        for number in range(1, count + 1):
            log.append({"id": str(number), "time": number, "username": "ada", "action": "x", "target": "y"}, b"key")
            if number == retired and not late:
                log.retire(number, b"key")
        if late:
            log.retire(retired, b"key")
        kept = [number for number in range(log.retired + 1, count + 1) if number > taken]
        after = list(log.after(taken))
        assert [number for number, _ in after] == kept
        assert [int(entry["id"]) for _, entry in after] == kept
