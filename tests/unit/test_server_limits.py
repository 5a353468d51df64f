"""Limits from settings and configuration, and as many connections as there are files."""

import resource
from types import SimpleNamespace

import pytest

from opsapp.lib.problems import StoreAway
from opsapp.web import server
from opsapp.web.config import LimitSettings
from opsapp.web.server import Limits, memory


def test_settings_may_be_text_and_name_only_what_they_change():
    got = Limits().with_settings({"head_timeout": "2.5", "max_body": "100", "port": "80"})
    assert (got.head_timeout, got.max_body, got.body_timeout) == (2.5, 100, 30.0)


def test_a_setting_that_is_no_number_is_named():
    with pytest.raises(ValueError, match="max_body must be a number"):
        Limits().with_settings({"max_body": "a lot"})


@pytest.mark.parametrize("taken", [True, False])
def test_a_reload_that_was_refused_is_not_called_one(caplog, taken):
    caplog.set_level("INFO")
    running = SimpleNamespace(limits=None)
    server._reload(running, Limits(), None, lambda: taken)
    assert ("reloaded" in caplog.text, running.limits is not None) == (taken, taken)


def test_a_reload_is_tried_again_while_the_store_is_out_of_reach(caplog, monkeypatch):
    caplog.set_level("INFO")
    monkeypatch.setattr(server, "RELOAD_AGAIN_S", 0)
    answers, running = [StoreAway(), StoreAway(), True], SimpleNamespace(limits=None)

    def reload():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    server._reload(running, Limits(), None, reload)
    assert answers == []
    assert running.limits is not None
    assert caplog.text.count("it is tried again") == 2


def test_the_configuration_names_its_units():
    got = Limits().with_config(LimitSettings(head_timeout_s=2, max_body_bytes=4096))
    assert (got.head_timeout, got.max_body, got.idle_timeout) == (2.0, 4096, 75.0)


@pytest.mark.parametrize(
    ("files", "asked", "connections"),
    [
        ((1024, 4096), (4096, 4096), 3840),
        ((1024, resource.RLIM_INFINITY), (12_256, resource.RLIM_INFINITY), 12_000),
        ((100, 100), (100, 100), 64),
        ((65_536, 65_536), None, 12_000),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), None, 12_000),
    ],
)
def test_no_more_connections_than_files(monkeypatch, files, asked, connections):
    set_to = []
    monkeypatch.setattr(resource, "getrlimit", lambda _which: files)
    monkeypatch.setattr(resource, "setrlimit", lambda _which, limits: set_to.append(limits))
    assert server._within_files(Limits()).max_connections == connections
    assert set_to == ([asked] if asked else [])


def test_memory_is_given_back_once_after_each_wave():
    given = []
    water = memory.HighWater(lambda: given.append(1))
    for count in (10, 1, 499, 0):
        water.rose(count)
        water.fell(count // 2)
    assert given == []
    for _ in range(2):
        water.rose(600)
        for count in range(599, -1, -1):
            water.fell(count)
    assert given == [1, 1]


def test_the_ini_file_holds_where_the_yaml_file_says_nothing():
    got = (
        Limits().with_settings({"idle_timeout": "20", "head_timeout": "9"}).with_config(LimitSettings(head_timeout_s=2))
    )
    assert (got.idle_timeout, got.head_timeout) == (20, 2)
    assert Limits().with_config(LimitSettings()) == Limits()
