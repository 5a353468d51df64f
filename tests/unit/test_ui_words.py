"""How times and states are said."""

import pytest

from opsapp.ui import builder, words
from opsapp.ui.plan import Act, Column, Page, Part
from opsapp.ui.reader import Reader, known_zone

NOW = 1_763_817_640.0  # 2025-11-22 13:20:40 UTC


def reader(zone="Europe/Berlin", query=None):
    return Reader(NOW, zone, "mara", "operator", query or {}, lambda api: "secret" not in api)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(5, "5 s ago"), (60, "1 min ago"), (7199, "119 min ago"), (7200, "2 h ago"), (3 * 86_400, "3 d ago"),
     (-600, "in 10 min"), (40 * 86_400, "13 Oct 2025")],
)  # fmt: skip
def test_a_moment_is_said_as_seen_from_now(seconds, said):
    assert f">{said}</time>" in words.ago(NOW - seconds, reader())


def test_the_exact_moment_is_in_the_readers_zone_and_in_utc():
    shown = words.ago(NOW - 60, reader())
    assert 'datetime="2025-11-22T13:19:40Z"' in shown
    assert 'title="Sat 22 Nov 2025, 14:19:40 Berlin (2025-11-22 13:19:40 UTC)"' in shown
    assert 'title="Sat 22 Nov 2025, 13:19:40 UTC"' in words.ago(NOW - 60, reader("UTC"))
    assert ">2025-11-22 13:19:40 UTC<" in words.ago(NOW - 60, None)
    assert ">14:19<" in words.clock(NOW - 60, reader())
    assert ">21 Nov 14:20<" in words.clock(NOW - 86_400, reader())
    assert ">1 min<" in words.since(NOW - 60, reader())


@pytest.mark.parametrize("name", [None, "", "Nowhere/Town", "../../etc/passwd", "/etc/passwd", "x" * 70, "Europe"])
def test_a_zone_that_is_none_is_utc(name):
    assert known_zone(name) == "UTC"
    assert known_zone("Asia/Kolkata") == "Asia/Kolkata"


def test_a_state_has_a_kind_and_a_word():
    assert [words.kind_of(each) for each in ("up", "DOWN", "heal", "pending_approval", "nobody knows")] == [
        "ok", "bad", "heal", "warn", "off"
    ]  # fmt: skip
    assert words.spoken("pending_approval") == "Pending approval"
    assert [words.initials(name) for name in ("mara.kern", "jo", "x")] == ["MK", "JO", "X"]
    assert words.percent(99.996) == "99.99 %"


class Answer:
    def __init__(self, value):
        self.value, self.headers = value, {}


def shown(page, answers, **query):
    asked = []

    def ask(path, text):
        asked.append((path, text))
        return Answer(answers[path])

    return asked, builder.show(page, {"id": "m1"}, reader(query=query), ask, lambda response: response.value, [])


def test_a_part_asks_for_what_an_earlier_one_named():
    columns = (Column("Name", "name"),)
    page = Page(
        "/m/{id}",
        "M",
        (
            Part("State", "/api/m/{id}", columns, name="monitor"),
            Part("Load", "/api/a/{monitor.agent_id}/metrics?x=1", columns, hidden=True, name="load",
                 asks=lambda reader, said: {"range": reader.query["range"], "of": said["monitor"]["agent_id"]}),
            Part("Other", "/api/b/{monitor.none}", columns, name="other"),
            Part("Kept", "/api/secret", columns, optional=True, name="kept"),
        ),
    )  # fmt: skip
    monitor, load = {"agent_id": "a/1", "none": None}, [{"name": "cpu"}]
    asked, found = shown(page, {"/api/m/m1": monitor, "/api/a/a%2F1/metrics": load}, range="7d")
    assert asked == [("/api/m/m1", ""), ("/api/a/a%2F1/metrics", "x=1&range=7d&of=a%2F1")]
    assert [(each.name, each.value, each.part.hidden) for each in found] == [
        ("monitor", monitor, False),
        ("load", load, True),
    ]


def test_acts_are_known_by_the_names_of_their_parts():
    pause, tell, make = (Act(name, name, f"POST /api/{name}") for name in ("pause", "secret", "make"))
    page = Page(
        "/m",
        "M",
        (Part("A", "/api/a", (), acts=(pause, tell), name="a"), Part("B", "/api/b", (), acts=(pause,))),
        (make,),
    )
    assert set(builder.acts_of(page, reader().may)) == {"a.pause", "1.pause", "make"}
    assert builder.act_of(page, "a.pause") == builder.act_of(page, "1.pause") == pause
    assert builder.act_of(page, "0.pause") is None
