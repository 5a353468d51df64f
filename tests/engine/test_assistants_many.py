"""What a tool of an assistant and the first steps read in a service of years: what they say, and not what is over."""

import pytest
from ZODB.Connection import Connection

from opsapp.assistants.config import AssistantSettings
from opsapp.assistants.logic.tools import READS
from tests.bench import years_store
from tests.engine.healing import Ward
from tests.support import estate
from tests.support.assistants import Door

FEW, MANY = 500, 2500
NAMED = {FEW: "first", MANY: "second"}
MORE = 150  # objects more for a page of what is full at last, with the nodes of its trees
ADD = (
    years_store.add_incidents, years_store.add_entries, years_store.add_approvals, years_store.add_deliveries,
    years_store.add_runs,
)  # fmt: skip


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """By tool and page: how many objects it loads when there are few records, and when there are many; what was
    refused."""
    ward = Ward(tmp_path_factory.mktemp("grown"))
    service = ward.service
    estate.fill(ward)
    service.configure(AssistantSettings, open_proposals=10)
    for name in NAMED.values():
        service.ada.post_json("/api/automations", estate.SCRIPT | {"name": name})
    door, browser = Door(service, "ada", role="admin"), service.browser("ada")
    asked = {tool.name: (door.tool, (tool.name,), arguments(service, tool)) for tool in READS}
    asked["/first-steps"] = browser.get, ("/first-steps",), {}
    loaded, done, refused = {name: [] for name in asked}, 0, set()
    for count in (FEW, MANY):
        for add in ADD:
            service.transact(add, done, count, count, service.clock.now())
        done = count
        dear = {name: (door.tool, (name,), given) for name, given in proposals(service, count).items()}
        for name, (ask, words, more) in (asked | dear).items():
            answer, objects = counted(service, lambda: ask(*words, **more))  # noqa: B023
            loaded.setdefault(name, []).append(objects)
            refused |= {(name, str(answer[0]))} if name != "/first-steps" and answer[1] else set()
    yield loaded, refused
    ward.close()


PROPOSING = ("what_if", "propose_action", "propose_rule", "propose_run")


def proposals(service, count):
    """What is proposed is new each time."""
    condition, reason = f"cpu_percent > {count / 100}", "It is needed."
    rule = {"id": f"draft-{count}", "condition": condition, "action": {"type": "clear_cache"}}
    [automation] = [row for row in service.ada.get("/api/automations").json if row["name"] == NAMED[count]]
    restart = {"host": "box-1", "action": "restart_service", "params": {"service": "nginx"}, "condition": condition}
    given = ({"rule": rule}, restart | {"reason": reason}, {"rule": rule, "reason": reason})
    run = {"automation_id": automation["id"], "inputs": {}, "reason": reason}
    return dict(zip(PROPOSING, (*given, run), strict=True))


def arguments(service, tool):
    if tool.name == "explain_moment":
        return {"kind": "monitors", "id": years_store.ids_of(service)["monitor_id"]}
    ids = years_store.ids_of(service)
    names = {part.partition("}")[0] for _, path in tool.parts for part in path.split("{")[1:]}
    return {name: ids[name] for name in names}


def counted(service, ask):
    """The answer, and how many objects were loaded for it by an empty cache."""
    service.node.store.db.cacheMinimize()
    count, real = [0], Connection.setstate

    def setstate(self, obj):
        count[0] += 1
        real(self, obj)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "setstate", setstate)
        return ask(), count[0]


def test_every_tool_was_answered(grown):
    assert grown[1] == set()


@pytest.mark.parametrize("name", [*(tool.name for tool in READS), *PROPOSING, "/first-steps"])
def test_five_times_the_records_are_not_read(grown, name):
    few, many = grown[0][name]
    assert many <= few + MORE
