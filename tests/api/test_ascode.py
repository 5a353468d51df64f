"""POST /api/apply and GET /api/export: all or nothing, nothing twice, no secret shown."""

import pytest

from opsapp.agents.resources import Agent
from opsapp.monitoring.engine import ascode as kind
from opsapp.monitoring.engine import register_of
from opsapp.monitoring.resources import Monitor
from opsapp.runtime.ascode.kinds import StoredEntry

WEB = {"name": "web", "type": "http", "url": "https://example.test/"}
DISK = {"id": "disk", "condition": "disk.*.percent > 95", "action": {"type": "temp_cleanup"}}
SECRET = {**WEB, "url": "https://me:hidden@example.test/", "headers": {"Authorization": "Bearer hidden"}}


def apply(service, document, status=200, **more):
    return service.ada.post_json("/api/apply", {"document": document, **more}, status=status).json


def told(answer):
    return [(change["kind"], change["change"], change["key"]) for change in answer["changes"]]


def monitors(service):
    return service.ada.get("/api/monitoring/endpoints").json


def test_what_is_written_comes_true_once(service):
    document = {"monitors": [WEB], "rules": [DISK]}
    answer = apply(service, document)
    assert told(answer) == [("monitors", "create", "web"), ("rules", "create", "disk")]
    [monitor] = monitors(service)
    assert (monitor["id"], monitor["interval"]) == (answer["changes"][0]["id"], 60)
    assert service.ada.get("/api/healing/rules/disk").json["source"] == "api"
    assert apply(service, document) == {"changes": [], "unchanged": 2, "waiting": [], "dry_run": False}


def test_a_change_tells_what_differs_and_keeps_the_thing(service):
    apply(service, {"monitors": [{**WEB, "interval": 30}]})
    [before] = monitors(service)
    [change] = apply(service, {"monitors": [WEB]})["changes"]
    assert (change["before"], change["after"]) == ({"interval": 30}, {"interval": 60})
    assert [monitor["id"] for monitor in monitors(service)] == [before["id"]]


def test_a_dry_run_tells_and_changes_nothing(service):
    apply(service, {})  # signs ada in
    before = service.node.store.db.lastTransaction()
    answer = apply(service, {"monitors": [WEB], "rules": [DISK]}, dry_run=True)
    assert told(answer) == [("monitors", "create", "web"), ("rules", "create", "disk")]
    assert [change["id"] for change in answer["changes"]] == [None, None]
    assert answer["dry_run"] is True
    assert service.node.store.db.lastTransaction() == before
    assert monitors(service) == []


def test_one_wrong_entry_and_nothing_is_done_all_mistakes_named(service):
    """What the document itself shows and what only the store knows, in one answer."""
    apply(service, {"monitors": [{**WEB, "name": "kept"}]})
    document = {
        "monitors": [WEB, {**WEB, "name": "two", "agent_id": "abc"}, {**WEB, "name": "three", "interval": 1}],
        "rules": [DISK, {**DISK, "id": "none", "condition": "cpu", "action": None},
                  {**DISK, "id": "odd", "action": {"type": "temp_cleanup", "params": {"depth": 1}}}],
        "windows": "none",
    }  # fmt: skip
    fields = apply(service, document, 422, prune=True)["fields"]
    assert fields == {
        "monitors.1.agent_id": "no such agent",
        "monitors.2.interval": "must be 5 to 86400",
        "rules.1.condition": fields["rules.1.condition"],
        "rules.1.action": "is required where there is no escalation_chain",
        "rules.2.action.params.depth": "temp_cleanup has no such parameter",
        "windows": "must be a list",
    }
    assert [monitor["name"] for monitor in monitors(service)] == ["kept"]
    service.ada.get("/api/healing/rules/disk", status=404)


def test_values_are_strict_and_kinds_known(service):
    fields = apply(service, {"monitors": [{**WEB, "interval": "60"}], "monitor": []}, 422)["fields"]
    assert fields == {"monitors.0.interval": "must be an integer", "monitor": "is not known here"}


def test_only_pruning_deletes_and_only_kinds_that_are_named(service):
    apply(service, {"monitors": [WEB], "rules": [DISK]})
    other = {"monitors": [{**WEB, "name": "other"}]}
    assert told(apply(service, other)) == [("monitors", "create", "other")]
    assert told(apply(service, other, prune=True)) == [("monitors", "delete", "web")]
    assert [monitor["name"] for monitor in monitors(service)] == ["other"]
    service.ada.get("/api/healing/rules/disk")
    service.ada.get("/api/healing/rules/default-cpu")
    assert told(apply(service, {"rules": []}, prune=True)) == [("rules", "delete", "disk")]


def test_the_same_name_twice_is_two_things(service):
    twice = {"monitors": [WEB, {**WEB, "interval": 300}]}
    assert len(apply(service, twice)["changes"]) == 2
    assert apply(service, twice)["unchanged"] == 2


def test_an_export_holds_no_secret_and_applies_to_its_own_store(service):
    apply(service, {"monitors": [SECRET], "rules": [DISK]})
    answer = service.ada.get("/api/export")
    assert "hidden" not in answer.text
    assert [rule["id"] for rule in answer.json["rules"]] == ["disk"]
    assert "id" not in answer.json["monitors"][0]
    assert apply(service, answer.json)["changes"] == []
    assert monitors(service)[0]["headers"] == SECRET["headers"]


NIGHT = {"name": "night", "start": "2026-01-06T22:00:00", "end": "2026-01-07T02:00:00"}


def windows(service):
    return service.ada.get("/api/maintenance").json


def test_a_window_covers_by_name_what_the_same_document_makes(service):
    agent = service.ada.post_json("/api/agents", {"label": "box-1"}).json["agent_id"]
    document = {"windows": [{**NIGHT, "scope": ["web", "box-1"]}], "monitors": [WEB]}
    assert told(apply(service, document))[1] == ("windows", "create", "night")
    [monitor] = monitors(service)
    assert windows(service)[0]["scope"] == [monitor["id"], agent]
    assert apply(service, document)["unchanged"] == 2
    by_id = {"windows": [{**NIGHT, "scope": [monitor["id"], agent]}]}
    assert apply(service, by_id)["unchanged"] == 1
    exported = service.ada.get("/api/export").json
    assert exported["windows"][0]["scope"] == ["web", "box-1"]
    service.ada.delete("/api/monitoring/endpoints/" + monitor["id"])
    service.ada.delete("/api/maintenance/" + windows(service)[0]["id"])
    apply(service, exported)
    assert windows(service)[0]["scope"] == [monitors(service)[0]["id"], agent]


def test_a_window_covers_nothing_that_could_be_several_things(service):
    apply(service, {"monitors": [WEB, WEB]})
    document = {"windows": [{**NIGHT, "scope": ["web"]}, {**NIGHT, "name": "two", "scope": ["gone"]}]}
    fields = apply(service, document, 422)["fields"]
    assert fields == {
        "windows.0.scope": "several things have this name, give the ids: web",
        "windows.1.scope": "no such monitor or agent: gone",
    }
    ids = [monitor["id"] for monitor in monitors(service)]
    apply(service, {"windows": [{**NIGHT, "scope": ids}]})
    assert service.ada.get("/api/export").json["windows"][0]["scope"] == ids


def test_what_a_window_covered_may_be_gone(service):
    apply(service, {"monitors": [WEB], "windows": [{**NIGHT, "scope": ["web"]}]})
    gone = monitors(service)[0]["id"]
    service.ada.delete("/api/monitoring/endpoints/" + gone)
    exported = service.ada.get("/api/export").json
    assert exported["windows"][0]["scope"] == [gone]
    assert apply(service, exported)["changes"] == []


def test_a_left_out_secret_is_asked_for_where_it_is_not_known(service):
    document = {"monitors": [{**WEB, "headers": {"Authorization": "***"}}]}
    assert list(apply(service, document, 422)["fields"]) == ["monitors.0.headers.Authorization"]
    document = {"monitors": [{**WEB, "url": "https://***@example.test/"}]}
    assert list(apply(service, document, 422)["fields"]) == ["monitors.0.url"]


def test_credentials_in_the_address_of_a_webhook_are_secrets(service):
    call = {"name": "call", "type": "webhook", "params": {"url": "https://me:hidden@example.test/a?b=c"}}
    apply(service, {"automations": [call]})
    made = service.ada.get("/api/automations").json[0]["id"]
    assert service.otto.get(f"/api/automations/{made}").json["params"]["url"] == call["params"]["url"]
    seen = service.vera.get(f"/api/automations/{made}").json["params"]["url"]
    assert seen == "https://***@example.test/a?***"
    assert service.vera.get("/api/automations/export").json[0]["params"]["url"] == seen
    exported = service.ada.get("/api/export")
    assert "hidden" not in exported.text
    assert seen in exported.text
    assert apply(service, exported.json)["changes"] == []
    assert "hidden" not in service.ada.get("/api/audit").text


def test_a_changed_secret_is_told_but_not_shown(service):
    apply(service, {"monitors": [SECRET]})
    other = {**SECRET, "headers": {"Authorization": "Bearer another"}}
    answer = apply(service, {"monitors": [other]})
    assert [(change["before"], change["after"], change["secrets"]) for change in answer["changes"]] == [({}, {}, True)]
    assert monitors(service)[0]["headers"] == other["headers"]


def test_every_change_is_in_the_audit(service):
    apply(service, {"monitors": [SECRET], "rules": [DISK]})
    entries = service.ada.get("/api/audit?user=ada").json
    assert {entry["action"] for entry in entries} == {"monitor.create", "rule.create"}
    assert "hidden" not in str(entries)


@pytest.mark.parametrize("document", [[], "monitors", None, {"monitors": {}}, {"monitors": [[]]}])
@pytest.mark.shared
def test_what_is_no_document_is_refused(service, document):
    assert apply(service, document, 422)["fields"]


def entries_of(service, read):
    return service.read(lambda root: list(read(service.node, root)))


def test_what_is_exported_from_memory_is_what_is_stored(service):
    plain = [{**WEB, "name": f"m{n}", "url": f"https://m{n}.test/?key=hidden{n}"} for n in range(3)]
    apply(service, {"monitors": [*plain, SECRET, {"name": "call", "type": "push"}]})
    stored = entries_of(service, lambda node, root: [kind.shown(entry.fields) for entry in kind.stored(node, root)])
    assert entries_of(service, kind.exported) == stored
    assert [list(fields) for fields in entries_of(service, kind.exported)] == [list(fields) for fields in stored]
    assert len(stored) == 5


def test_an_export_reads_no_monitor_and_no_agent_for_each_of_them(service, monkeypatch):
    """Thousands take a page's time twice over."""
    apply(service, {"monitors": [{**WEB, "name": f"m{n}"} for n in range(3)]})
    agent = service.ada.post_json("/api/agents", {"label": "box-1"}).json["agent_id"]
    covered = [monitors(service)[0]["id"], agent]
    apply(service, {"windows": [{**NIGHT, "scope": covered}]})
    before = service.ada.get("/api/export").json
    read = []
    for thing in (Monitor, Agent):
        monkeypatch.setattr(thing, "__setstate__", lambda self, state: read.append(type(self)))
    service.node.store.db.cacheMinimize()
    assert service.ada.get("/api/export").json == before
    assert before["windows"][0]["scope"] == ["m0", "box-1"]
    assert read == []


def test_an_export_leaves_out_no_monitor_that_cannot_be_read(service, monkeypatch):
    """It is refused: an import with --prune would delete what is not in it."""
    apply(service, {"monitors": [WEB]})
    [monitor] = monitors(service)
    monkeypatch.setattr(register_of(service.node), "damaged", {monitor["id"]: None})
    monkeypatch.setattr(kind, "stored", lambda *_: iter([StoredEntry("1", {"name": "from the store"})]))
    assert entries_of(service, kind.exported) == [{"name": "from the store"}]
