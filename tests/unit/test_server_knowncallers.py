"""Whose line a request waits in: known people, known agents, and everybody else by address."""

from opsapp.web.server import knowncallers
from opsapp.web.server.head import RequestHead
from opsapp.web.server.knowncallers import KnownCallers


def head(**headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return RequestHead("GET", "/api/me", "", 1, named, 0, False, True, False)


def test_a_credential_counts_once_it_was_found_good():
    known, shown = KnownCallers(), head(authorization="Bearer good")
    assert known.whose(shown, "192.0.2.1") == ("strangers", "192.0.2.1")
    known.learn(shown)
    people = known.whose(shown, "192.0.2.1")
    assert people.group == "people"
    assert known.whose(shown, "192.0.2.9") == people
    assert "good" not in repr(people)
    assert known.whose(head(authorization="Bearer other"), "192.0.2.1").group == "strangers"


def test_agents_have_a_line_of_their_own_and_who_shows_nothing_is_a_stranger():
    known = KnownCallers()
    known.learn(head(x_agent_key="k"))
    assert known.whose(head(x_agent_key="k"), "192.0.2.1").group == "agents"
    known.learn(head())
    assert known.whose(head(), "192.0.2.1") == ("strangers", "192.0.2.1")


def test_what_was_not_used_for_longest_is_forgotten(monkeypatch):
    monkeypatch.setattr(knowncallers, "KNOWN", 2)
    known = KnownCallers()
    for name in ("a", "b", "a", "c"):
        known.learn(head(cookie=name))
    groups = [known.whose(head(cookie=name), "-").group for name in ("a", "b", "c")]
    assert groups == ["people", "strangers", "people"]
