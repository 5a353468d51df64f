"""`?as_of=`: monitors and the status document as they were, and where the past ends."""

import time

import pytest

from opsapp.runtime.clocks.clock import Clock
from opsapp.runtime.store import pack
from tests.support.app import Service
from tests.support.monitoring import DOWN, Lookout
from tests.support.waiting import until

PATH = "/api/monitoring/endpoints"
STATUS = "/api/monitoring/status-page"
SHOP = {"name": "Shop", "url": "http://shop.example/", "type": "http", "tags": ["public"], "retries": 0}


@pytest.fixture
def service(tmp_path, monkeypatch):
    """On the real clock, because revisions of the store carry real times."""
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    before = int(time.time()) - 1
    service = Service(tmp_path, clock=Clock())
    service.before = before
    yield service
    service.close()


def second_passed():
    """The second that is under way, once it is over: what is done from here on is not in it."""
    now = int(time.time())
    until(lambda: int(time.time()) > now, what="the next second")  # real commits carry the real time
    return now


def test_monitors_and_the_status_document_as_they_were(service):
    lookout = Lookout(service)
    shop = service.otto.post_json(PATH, SHOP).json["id"]
    before = service.otto.get(f"{PATH}/{shop}").json
    then = second_passed()
    service.otto.put_json(f"{PATH}/{shop}", {"name": "Store", "interval": 30, "headers": {"X-Key": "secret"}})
    other = service.otto.post_json(PATH, SHOP | {"name": "Other"}).json["id"]
    lookout.sees = {shop: DOWN, other: DOWN}
    lookout.tick()
    assert service.anonymous.get(STATUS).json["overall"] == "major_outage"
    assert service.otto.get(f"{PATH}/{shop}?as_of={then}").json == before
    listed = service.vera.get(f"{PATH}?as_of={then}&q=shop")
    assert (listed.headers["X-Total-Count"], [each["name"] for each in listed.json]) == ("1", ["Shop"])
    assert service.vera.get(f"{PATH}?as_of={then}&status=down").json == []
    service.vera.get(f"{PATH}/{other}?as_of={then}", status=404)
    document = service.anonymous.get(f"{STATUS}?as_of={then}").json
    assert [(each["name"], each["status"]) for each in document["monitors"]] == [("Shop", "pending")]
    assert document["active_incidents"] == []
    assert document["generated_at"] == then - then % 5
    now = second_passed()
    assert service.vera.get(f"{PATH}/{shop}?as_of={now}").json["headers"] == {"X-Key": "***"}
    assert len(service.anonymous.get(f"{STATUS}?as_of={now}").json["active_incidents"]) == 2
    service.ada.delete(f"{PATH}/{other}")
    assert [each["name"] for each in service.vera.get(f"{PATH}?as_of={now}&limit=1").json] == ["Other"]


def test_without_a_sign_in_the_past_shows_only_what_is_public_now(service):
    Lookout(service)
    for name in ("Shop", "Secret project", "Gone"):
        made = service.otto.post_json(PATH, SHOP | {"name": name}).json["id"]
        if name == "Secret project":
            hidden = made
    then = second_passed()
    service.otto.put_json(f"{PATH}/{hidden}", {"tags": []})
    service.ada.delete(f"{PATH}/{made}")
    address = f"{STATUS}?as_of={then}"
    assert [each["name"] for each in service.anonymous.get(address).json["monitors"]] == ["Shop"]
    assert len(service.vera.get(address).json["monitors"]) == 3


@pytest.mark.parametrize("value", ["soon", "-1", "1.5", "9999999999"])
@pytest.mark.shared
def test_a_time_that_is_none_or_lies_ahead_is_refused(service, value):
    for path in (PATH, STATUS):
        assert "as_of" in service.vera.get(f"{path}?as_of={value}", status=422).json["fields"]


def test_before_the_last_schema_step_or_the_last_pack_nothing_is_told(service):
    assert service.vera.get(f"{PATH}?as_of={service.before}", status=410).json["code"] == "before_horizon"
    shop = service.otto.post_json(PATH, SHOP).json["id"]
    then = second_passed()
    service.otto.put_json(f"{PATH}/{shop}", {"interval": 30})
    assert service.vera.get(f"{PATH}/{shop}?as_of={then}").json["interval"] == 60
    second_passed()
    pack.pack(service.node.store, 0, service.node.clock.now())
    service.vera.get(f"{PATH}/{shop}?as_of={then}", status=410)
    service.anonymous.get(f"{STATUS}?as_of={then}", status=410)
    assert service.vera.get(f"{PATH}/{shop}?as_of={int(time.time())}").json["interval"] == 30


def test_a_store_that_was_packed_by_another_says_so_too(service):
    shop = service.otto.post_json(PATH, SHOP).json["id"]
    then = second_passed()
    service.otto.put_json(f"{PATH}/{shop}", {"interval": 30})
    second_passed()
    service.node.store.db.pack(time.time())
    service.vera.get(f"{PATH}/{shop}?as_of={then}", status=410)


def test_the_past_shows_the_notices_that_were_open_then_and_strangers_none_that_is_over(service):
    notices = "/api/monitoring/notices"
    kept, ended = (service.otto.post_json(notices, {"title": title}, status=201).json["id"] for title in ("a", "b"))
    then = second_passed()
    service.otto.post_json(f"{notices}/{ended}/end", {})
    titles = [notice["title"] for notice in service.vera.get(f"{STATUS}?as_of={then}").json["notices"]]
    assert sorted(titles) == ["a", "b"]
    public = service.anonymous.get(f"{STATUS}?as_of={then}").json["notices"]
    assert [notice["id"] for notice in public] == [kept]
