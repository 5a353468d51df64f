"""Watchers: who is called about a thing, and until when."""

from opsapp.runtime.watchers import Watchers


def test_who_watches_a_thing_is_called_about_it_until_it_ends():
    watchers, heard = Watchers(), []
    first = watchers.watch("web-1", lambda *values: heard.append(("first", *values)))
    second = watchers.watch("web-1", lambda *values: heard.append(("second", *values)))
    watchers.call("web-1", 1)
    first()
    watchers.call("web-1", 2)
    watchers.call("web-2", 3)
    assert heard == [("first", 1), ("second", 1), ("second", 2)]
    assert "web-1" in watchers
    assert list(watchers) == ["web-1"]
    second()
    second()  # once more changes nothing
    assert "web-1" not in watchers
    assert list(watchers) == []


def test_a_thing_that_is_forgotten_calls_nobody_and_its_watches_can_still_end():
    watchers, heard = Watchers(), []
    stop = watchers.watch("run", heard.append)
    watchers.forget("run")
    watchers.call("run", 1)
    stop()
    assert heard == []
    assert "run" not in watchers


def test_a_watcher_may_end_itself_while_it_is_called():
    watchers, heard = Watchers(), []
    stops = []

    def once(value):
        heard.append(value)
        stops[0]()

    stops.append(watchers.watch("run", once))
    watchers.watch("run", heard.append)
    watchers.call("run", 1)
    watchers.call("run", 2)
    assert heard == [1, 1, 2]
