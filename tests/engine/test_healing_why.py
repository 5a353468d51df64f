"""Why a case went as it did, what a condition says now, and what a draft would do: as the API tells it."""

from tests.engine.healing import NGINX, Ward

FAILED = {"service__nginx__state": "failed"}
WELL = {"service__nginx__state": "active"}


def get(here, path):
    return here.service.vera.get(f"/api/healing/{path}").json


def dry(here, rule, **event):
    event = {"rule_id": rule["id"], "target": "box-1/nginx", **event}
    return here.service.otto.post_json("/api/healing/dry-run", {"event": event, "rule": rule}).json


def test_a_case_tells_of_every_gate_with_its_figure(ward):
    here = ward().at("execute").report(**FAILED).turn().turn(6)
    case_id = here.cases[0]["id"]
    open_case = get(here, f"cases/{case_id}")
    assert (open_case["state"], open_case["stage"]) == ("executing", "execution")
    assert open_case["due"] >= here.clock.now()
    assert open_case["act"]["action"] == "restart_service"
    here.heal(**WELL)
    case = get(here, f"cases/{case_id}")
    assert (case["outcome"], case["stage"], case["due"]) == ("verified", "trust", None)
    told = [(gate["stage"], gate["gate"], gate["result"]) for gate in case["gates"]]
    assert told == [
        ("correlation", "held", "passed"),
        ("correlation", "root_cause", "passed"),
        ("planning", "level", "passed"),
        ("planning", "pre_flight", "passed"),
        ("planning", "pre_flight", "passed"),
        ("planning", "plan", "passed"),
        ("execution", "snapshot", "passed"),
        ("execution", "execute", "passed"),
        ("verification", "outcome", "passed"),
    ]
    assert [entry["outcome"] for entry in case["entries"]] == ["verified"]
    assert case["act"]["snapshot"] == "unit"
    assert [(one["action_type"], one["verified"], one["total"]) for one in case["records"]] == [
        ("restart_service", 1, 1)
    ]


def test_the_entries_of_a_case_are_its_own(ward):
    here = ward().at("execute")
    for _ in range(2):
        here.report(**FAILED).turn().turn(6)
        here.heal(**WELL)
        here.pass_time(400, step=20, **WELL)
    first, second = (
        get(here, f"cases/{case['id']}") for case in sorted(here.cases, key=lambda each: each["opened_at"])
    )
    assert [entry["id"] for entry in first["entries"]] == [1]
    assert [entry["id"] for entry in second["entries"]] == [2]
    assert second["records"][0]["total"] == 2


def test_a_condition_is_compared_with_what_is_reported_now(ward):
    here = ward().report(cpu_percent=95, **FAILED)
    ask = here.service.otto.post_json

    found = ask("/api/healing/evaluate", {"condition": "cpu_percent > 90"}).json
    assert (found["holds"], found["targets"][0]["target"]) == (1, "box-1")
    assert found["targets"][0]["readings"] == {"cpu_percent": 95}
    every = ask("/api/healing/evaluate", {"condition": 'service.*.state == "failed"'}).json
    assert [(one["target"], one["verdict"]) for one in every["targets"]] == [("box-1/nginx", True)]
    both = {"condition": "cpu_percent > 99 or gpu_percent > 1", "targets": {"agents": ["box-1"], "monitors": []}}
    unknown = ask("/api/healing/evaluate", both).json
    assert (unknown["unknown"], unknown["targets"][0]["missing"]) == (1, ["gpu_percent"])
    elsewhere = {"condition": "cpu_percent > 1", "targets": {"agents": ["tag:none"], "monitors": []}}
    assert ask("/api/healing/evaluate", elsewhere).json["matching"] == 0
    assert ask("/api/healing/evaluate", {"condition": "cpu_percent >"}, status=422).json["fields"]["condition"]


def test_names_that_can_be_read_stand_once_for_all_services(ward):
    here = ward().report(cpu_percent=5, service__a__state="active", service__b__state="failed")
    found = {row["name"]: row for row in get(here, "readings")}
    assert found["cpu_percent"] == {"name": "cpu_percent", "of": "host", "subjects": 1, "example": 5, "on": "box-1"}
    assert found["service.*.state"]["subjects"] == 1


def test_a_draft_is_tried_with_the_trust_that_it_would_have(ward):
    here = ward()
    here.service.ada.put_json("/api/healing/rules/nginx", {"action": NGINX["action"]})
    here.at("execute").report(**FAILED)
    same = dry(here, NGINX)
    assert same["would"] == "execute"
    edited = dry(here, {**NGINX, "action": {"type": "service_reload"}})
    assert (edited["would"], edited["trust"]["level"]) == ("notify", "notify")
    new = {"id": "new", "condition": 'service.nginx.state == "failed"', "action": {"type": "restart_service"}}
    assert dry(here, new)["would"] == "observe"
    assert here.service.vera.get("/api/healing/rules/new", expect_errors=True).status_int == 404
    assert here.trust().current_level == "execute"


def test_replay_counts_how_often_a_changed_rule_would_have_fired(ward):
    cpu = {"id": "cpu", "condition": "cpu_percent > 90", "action": {"type": "clear_cache"}, "initial_level": "notify"}
    here: Ward = ward(cpu)
    for load in (92, 99):
        here.report(cpu_percent=load).turn().turn(6)
        here.pass_time(400, step=20, cpu_percent=5)
    body = {"days": 7, "rules": [{**cpu, "condition": "cpu_percent > 95"}]}
    assert here.service.otto.post_json("/api/healing/replay", body).json["rules"] == [
        {"rule_id": "cpu", "recorded": 2, "would": 1}
    ]
