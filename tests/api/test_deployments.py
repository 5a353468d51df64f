"""Deployments: posted by people and pipelines, marks on the axis of what they are about, kept for a time."""

import pytest

from opsapp.healing.deployments import Deployment, DeploymentSettings, deployments_of
from opsapp.healing.engine import deployments as engine
from tests.support.monitoring import DOWN, Lookout

from .test_agents import Polling

ALL = "/api/deployments"
DAY = 86_400


@pytest.fixture
def box(service):
    service.clock.advance(60)
    box = Polling(service, "db-1", tags=["db"])
    box.report(cpu_percent=5)
    return box


@pytest.fixture
def lookout(service):
    return Lookout(service)


def post(who, title, status=201, **more):
    return who.post_json(ALL, {"title": title, **more}, status=status).json


def marks(service, kind, item_id, **asked):
    query = "".join(f"&{name}={value}" for name, value in asked.items())
    told = service.vera.get(f"/api/moment?kind={kind}&id={item_id}{query}").json
    return [mark for mark in told["marks"] if mark["row"] == "deployed"]


def words(service, kind, item_id, **asked):
    return [mark["words"] for mark in marks(service, kind, item_id, **asked)]


def test_it_is_a_mark_on_the_axis_of_what_it_names_and_of_nothing_else(service, box, lookout):
    shop, other = lookout.add(name="Shop", tags=["web"], retries=0), lookout.add(name="Other")
    key = service.ada.post_json("/api/keys", {"name": "ci", "role": "operator"}).json["key"]
    pipeline = {"Authorization": f"Bearer {key}", "Idempotency-Key": "build-1"}
    body = {"title": "shop 4.2.1", "monitors": ["Shop"], "url": "https://ci.example.org/1"}
    first = service.anonymous.post_json(ALL, body, headers=pipeline, status=201).json
    assert service.anonymous.post_json(ALL, body, headers=pipeline, status=201).json == first
    post(service.otto, "db 12", hosts=["db-1"])
    service.clock.advance(10)
    post(service.otto, "new certificates")
    everywhere = "Deployed: new certificates, told by otto"
    assert words(service, "monitors", shop) == ["Deployed: shop 4.2.1, told by ada", everywhere]
    assert words(service, "monitors", other) == [everywhere]
    assert words(service, "hosts", box.id) == ["Deployed: db 12, told by otto", everywhere]
    lookout.sees[shop] = DOWN
    lookout.run(300, step=10)
    (incident,) = service.vera.get(f"/api/monitoring/incidents?monitor_id={shop}").json
    assert words(service, "incidents", incident["id"]) == words(service, "monitors", shop)
    page = service.browser("vera").get(f"/incidents/{incident['id']}").html
    assert "Deployed: shop 4.2.1" in page.select_one("#moment").text
    assert "4.2.1" not in page.select_one(".answer").text, "before is not because"


def test_a_tag_stands_for_what_has_it_when_somebody_looks(service, box, lookout):
    shop = lookout.add(name="Shop", tags=["web"])
    post(service.otto, "web 2", monitors=["tag:web"], hosts=["tag:db"])
    assert len(words(service, "monitors", shop)) == len(words(service, "hosts", box.id)) == 1
    service.otto.put_json(f"/api/monitoring/endpoints/{shop}", {"tags": ["db"]})
    assert words(service, "monitors", shop) == [], "a tag of hosts is not one of monitors"
    service.otto.put_json(f"/api/monitoring/endpoints/{shop}", {"tags": ["web"]})
    assert len(words(service, "monitors", shop)) == 1


@pytest.mark.parametrize(
    ("body", "field", "says"),
    [
        ({"monitors": ["Nowhere"]}, "monitors", "no monitor called Nowhere"),
        ({"monitors": ["Twice"]}, "monitors", "or more than one"),
        ({"hosts": ["nowhere", "db-1", "tag:"]}, "hosts", "no host called nowhere nor tag:,"),
        ({"at": 2_000_000_000_000}, "at", ""),
        ({"url": "javascript:alert(1)"}, "url", "http"),
        ({"title": ""}, "title", ""),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_stored(service, box, lookout, body, field, says):
    for _ in range(2):
        lookout.add(name="Twice")
    refused = post(service.otto, "x", 422, **body) if "title" not in body else post(service.otto, "", 422)
    assert says in refused["fields"][field]
    assert service.vera.get(ALL).json == []


def test_its_time_is_given_or_now_and_never_ahead(service, box):
    now = int(service.clock.now())
    earlier = post(service.otto, "late news", at=now - 2 * DAY)["id"]
    post(service.otto, "a clock that is ahead", at=now + 50)
    post(service.otto, "now")
    assert "future" in post(service.otto, "x", 422, at=now + 90)["fields"]["at"]
    assert "730 days" in post(service.otto, "x", 422, at=now - 731 * DAY)["fields"]["at"]
    assert [row["title"] for row in service.vera.get(ALL).json] == ["a clock that is ahead", "now", "late news"]
    shown = service.vera.get(f"{ALL}/{earlier}").json
    assert (shown["at"], shown["created_at"], shown["created_by"]) == (now - 2 * DAY, now, "otto")
    assert marks(service, "hosts", box.id, **{"from": "-3d"})[0]["since"] == now - 2 * DAY


def test_operators_post_and_delete_it_is_audited_and_comes_back(service):
    made = post(service.otto, "shop 4.2.1")["id"]
    service.otto.delete(f"{ALL}/{made}")
    assert (service.vera.get(ALL).json, service.vera.get(ALL).headers["X-Total-Count"]) == ([], "0")
    (deleted,) = service.otto.get("/api/deleted").json
    service.otto.post(f"/api/deleted/{deleted['id']}/undo")
    assert [row["id"] for row in service.vera.get(ALL).json] == [made]
    assert service.vera.get(ALL).headers["X-Total-Count"] == "1"
    told = [(entry["action"], entry["target"]) for entry in service.ada.get("/api/audit?action=deployment").json]
    assert ("deployment.create", made) in told
    assert ("deployment.delete", made) in told


def test_old_ones_are_forgotten_a_page_at_a_time(service, box, monkeypatch):
    monkeypatch.setattr(engine, "PAGE", 3)
    now = int(service.clock.now())
    for number in range(8):
        post(service.otto, f"old {number}", at=now - 729 * DAY - number, hosts=["db-1"])
    post(service.otto, "young")
    service.clock.advance(DAY + 100)
    engine.step(service.node)

    def left(root):
        deployments = deployments_of(root)
        titles = [deployment.said.title for deployment in deployments.values()]
        return titles, list(deployments.by_subject), deployments.counts["all"]

    assert service.node.transact(left) == (["young"], ["*"], 1)


def test_of_many_a_moment_reads_only_what_it_shows(service, box):
    """20,000 of other hosts, and 3,000 of this one outside of the span, cost nothing."""
    now = int(service.clock.now())

    def fill(root):
        deployments = deployments_of(root)
        for number in range(3000):
            said = DeploymentSettings(f"n {number}", at=now - 10 * DAY - number)
            deployments.add(Deployment(said, frozenset((f"agent:{box.id}",)), "ci", now))
        for number in range(200):
            said = DeploymentSettings(f"in it {number}", at=now - number)
            deployments.add(Deployment(said, frozenset((f"agent:{box.id}",)), "ci", now))

    def read(root):
        loaded = len(list(deployments_of(root).within([f"agent:{box.id}"], now - DAY, now, 60)))
        jar = root._p_jar
        return loaded, sum(1 for _, thing in jar._cache.lru_items() if type(thing).__name__ == "Deployment")

    service.node.transact(fill)
    service.node.transact(lambda root: root._p_jar.cacheMinimize())
    shown, touched = service.node.transact(read)
    assert shown == 60
    assert touched <= 61
    assert len(marks(service, "hosts", box.id)) == 60


def test_people_post_one_on_its_page(service, box):
    otto = service.browser("otto")
    page = otto.get("/deployments")
    form = next(form for form in page.forms.values() if "act" in form.fields and form["act"].value == "post")
    form["title"], form["hosts"] = "shop 4.2.1", "db-1"
    page = form.submit().follow()
    assert "shop 4.2.1" in page.html.select_one("table").text
    assert page.html.select_one(".notice")
    vera = service.browser("vera").get("/deployments")
    assert "shop 4.2.1" in vera.html.select_one("table").text
    assert not [form for form in vera.forms.values() if "act" in form.fields and form["act"].value == "post"]
