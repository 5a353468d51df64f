"""The live view: latest wins, listeners hear everything taken, a listener's mistake stays its own."""

import threading
import tracemalloc
from math import inf

from opsapp.series.live import Live
from opsapp.series.observations import CODES, MARK


def test_the_latest_value_wins_whatever_the_order_of_arrival():
    live = Live()
    live.update("agent:a", {"cpu": 3, "mem": 1}, 10.0)
    live.update("agent:a", {"cpu": 2}, 9.0)
    live.update("agent:a", {"mem": 5}, 11.0)
    assert live.get("agent:a") == {"cpu": (3, 10.0), "mem": (5, 11.0)}
    assert live.value("agent:a", "cpu") == 3
    assert live.value("agent:b", "cpu") is None
    assert live.get("agent:b") == {}


def test_listeners_hear_what_was_taken_until_they_leave():
    live, heard = Live(), []
    leave = live.subscribe(lambda subject, changed: heard.append((subject, changed)))
    live.update("monitor:m", {"status": "up", "ms": 4}, 5.0)
    live.update("monitor:m", {"status": "down", "ms": 4}, 4.0)
    live.update("monitor:m", {"ms": 4}, 6.0)
    live.update("monitor:m", {"ms": 4}, 6.0)
    live.update("monitor:m", {"ms": 5}, 6.0)
    leave()
    live.update("monitor:m", {"ms": 9}, 7.0)
    assert heard == [("monitor:m", {"status": "up", "ms": 4}), ("monitor:m", {"ms": 4}), ("monitor:m", {"ms": 5})]


def test_a_listener_that_fails_is_logged_and_harms_nobody(caplog):
    live, heard = Live(), []
    live.subscribe(lambda subject, changed: 1 / 0)
    live.subscribe(lambda subject, changed: heard.append(subject))
    live.update("agent:a", {"cpu": 1}, 1.0)
    assert heard == ["agent:a"]
    assert "ZeroDivisionError" in caplog.text


def test_the_newest_of_some_names_is_asked_for_many_subjects_at_once():
    live = Live()
    live.update("monitor:a", {"ms": 4}, 10.0)
    live.update("monitor:a", {"status": "up"}, 12.0)
    live.update("monitor:b", {"status": "up"}, 11.0)
    live.update("monitor:b", {"tls": 9}, 20.0)
    subjects = ["monitor:b", "monitor:gone", "monitor:a"]
    assert live.newest(subjects, "ms", "status") == [11.0, -inf, 12.0]
    assert live.newest(subjects, "status", "ms") == [11.0, -inf, 12.0]
    for subject in ("monitor:a", "monitor:b"):
        assert live.newest([subject], "ms", "status") == [live.observed_at(subject, "ms", "status")]


def test_subjects_are_listed_and_dropped_with_their_series():
    live = Live()
    live.update("agent:a", {"cpu": 1}, 1.0)
    live.update("monitor:m", {"ms": 1}, 1.0)
    live.bind(7, "agent:a", "cpu")
    live.bind(8, "monitor:m", "ms")
    assert live.subjects("agent:") == ["agent:a"]
    live.drop("agent:a")
    live.replay([(7, 5000, 2.0, 0, 0), (8, 6000, 3.0, 0, 0)])
    assert live.subjects() == ["monitor:m"]
    assert live.get("monitor:m") == {"ms": (3.0, 6.0)}


def test_replay_takes_bound_numbers_with_a_value():
    live = Live()
    live.bind(7, "agent:a", "cpu")
    live.replay([(7, 5000, 2.5, 0, 0), (7, 6000, None, 0, 0), (9, 6000, 1.0, 0, 0)])
    assert live.get("agent:a") == {"cpu": (2.5, 5.0)}


def test_what_other_nodes_checked_shows_as_a_status_even_without_a_value():
    live = Live()
    live.bind(7, "monitor:a", "response_time_ms")
    live.replay([(7, 1_000_000, 12.5, CODES["up"], 60), (7, 1_060_000, None, CODES["down"], 60)])
    assert live.get("monitor:a") == {
        "response_time_ms": (12.5, 1000.0),
        "status": ("down", 1060.0),
        "last_check": (1060, 1060.0),
    }


def test_a_change_without_a_check_is_no_check():
    live = Live()
    live.bind(7, "monitor:a", "response_time_ms")
    live.replay([(7, 1_000_000, None, CODES["paused"] | MARK, 60), (7, 1_000_000, None, 0, 0)])
    assert live.get("monitor:a") == {}


def test_a_reader_never_sees_a_value_with_another_ones_time():
    live, torn, ended = Live(), [], threading.Event()

    def read():
        while not ended.is_set():
            torn.extend(pair for pair in live.get("monitor:m").values() if pair[0] != pair[1])

    reader = threading.Thread(target=read)
    reader.start()
    for n in range(1, 20_000):
        live.update("monitor:m", {f"n{n // 1000}": float(n), "ms": float(n)}, float(n))
    ended.set()
    reader.join()
    assert torn == []
    assert live.names("monitor:m") == 21


def test_what_is_known_under_the_same_few_names_takes_little_memory():
    """A dictionary of pairs for each subject takes twice as much."""
    live, words = Live(), [f"monitor:{n}" for n in range(2001)]
    values = {"status": "up", "last_check": 1, "ms": 1.0, "cert_days": 1.0}
    live.update(words.pop(), values, 0.0)
    tracemalloc.start()
    for n, word in enumerate(words):
        live.update(word, values, float(n))
    held = tracemalloc.get_traced_memory()[0] / len(words)
    tracemalloc.stop()
    assert held < 320
