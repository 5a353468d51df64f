"""/api/oncall: schedules, overrides, policies, who is on call now; what is refused, and by whom."""

import pytest

LAYER = {"users": ["otto", "ada"], "start": "2055-01-11", "handover": "08:00", "every": 1, "unit": "days"}
OPS = {"name": "Ops", "zone": "Europe/Berlin", "layers": [LAYER]}
# The test's clock stands at 2055-01-15 08:00 UTC, a Friday.
SWAP = {"user": "vera", "start": "2055-01-15T07:00:00", "end": "2055-01-15T12:00:00"}
HOUR, NOW = 3600, 2_683_612_800


@pytest.fixture
def people(service):
    for who in ("vera", "otto", "ada"):
        service.client(who)
    return service


@pytest.fixture
def ops(people):
    return people.ada.post_json("/api/oncall/schedules", OPS, status=201).json["id"]


def now(service):
    return service.vera.get("/api/oncall/now").json


def test_who_is_on_call_now_until_when_how_reached_and_who_is_next(people, ops):
    channel = {"name": "otto's phone", "url": "json://127.0.0.1:9/x", "answers_as": "otto"}
    people.ada.post_json("/api/notifications/channels", channel, status=201)
    (row,) = now(people)
    handover = NOW + 23 * HOUR  # 08:00 in Berlin is 07:00 UTC
    assert (row["schedule"], row["now"]["user"], row["now"]["end"], row["channels"]) == (
        "Ops", "otto", handover, ["otto's phone"])  # fmt: skip
    assert (row["next"]["user"], row["next"]["start"]) == ("ada", handover)
    shifts = people.vera.get(f"/api/oncall/schedules/{ops}/shifts?until={NOW + 48 * HOUR}").json
    assert [(shift["user"], shift["start"], shift["layer"]) for shift in shifts] == [
        ("otto", NOW, "layer 1"), ("ada", handover, "layer 1"), ("otto", handover + 24 * HOUR, "layer 1")]  # fmt: skip


@pytest.mark.parametrize("path", ["/api/oncall/schedules/{ops}/shifts", "/api/maintenance/calendar"])
def test_a_span_that_is_too_long_or_ends_before_it_begins_is_refused_not_cut(people, ops, path):
    path = path.format(ops=ops)
    for since, until in ((NOW, NOW + 62 * 24 * HOUR + 1), (NOW, NOW - 1)):
        refused = people.vera.get(f"{path}?since={since}&until={until}", status=422)
        assert refused.json["fields"].keys() == {"until"}
    people.vera.get(f"{path}?since={NOW}&until={NOW + 62 * 24 * HOUR}")
    assert people.vera.get(f"{path}?since={NOW}&until={NOW}").json == []


def test_an_operator_overrides_and_takes_it_back(people, ops):
    made = people.otto.post_json(f"/api/oncall/schedules/{ops}/overrides", SWAP, status=201).json
    assert (made["user"], made["start"], made["end"], made["created_by"]) == (
        "vera", NOW - HOUR, NOW + 4 * HOUR, "otto")  # fmt: skip
    assert (now(people)[0]["now"]["user"], now(people)[0]["now"]["layer"]) == ("vera", "override")
    assert people.vera.get(f"/api/oncall/schedules/{ops}").json["overrides"] == [made]
    people.ada.put_json(f"/api/oncall/schedules/{ops}", {"name": "Operations"})
    assert now(people)[0]["now"]["user"] == "vera", "a change of the schedule leaves overrides"
    people.otto.delete(f"/api/oncall/schedules/{ops}/overrides/{made['id']}")
    assert now(people)[0]["now"]["user"] == "otto"
    people.otto.delete(f"/api/oncall/schedules/{ops}/overrides/{made['id']}", status=404)


def test_nobody_on_call_is_said_and_who_is_gone_is_named(people, ops):
    people.ada.put_json("/api/users/otto", {"disabled": True})
    (row,) = now(people)
    assert (row["now"]["user"], row["now"]["skipped"]) == ("ada", ["otto"])
    later = {**OPS, "name": "Later", "layers": [{**LAYER, "users": ["ada"], "start": "2056-01-01"}]}
    people.ada.post_json("/api/oncall/schedules", later, status=201)
    assert [(row["schedule"], row["now"]["user"]) for row in now(people)] == [("Later", None), ("Ops", "ada")]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"zone": "Mars/Base"}, "zone"),
        ({"layers": []}, "layers"),
        ({"layers": [{**LAYER, "users": ["nobody"]}]}, "layers"),
        ({"layers": [{**LAYER, "start": "2055-02-30"}]}, "layers.0.start"),
        ({"layers": [{**LAYER, "handover": "24:00"}]}, "layers.0.handover"),
        ({"layers": [{**LAYER, "since": "22:00"}]}, "layers.0.until"),
        ({"layers": [{**LAYER, "every": 0}]}, "layers.0.every"),
    ],
)
def test_a_schedule_that_means_nothing_is_refused_by_the_field(people, changes, field):
    refused = people.ada.post_json("/api/oncall/schedules", OPS | changes, status=422).json
    assert field in refused["fields"]
    assert now(people) == []


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"user": "nobody"}, "user"),
        ({"end": "2055-01-15T06:00:00"}, "end"),
        ({"end": "2029-01-15T06:00:00"}, "end"),
        ({"start": "2055-01-14T06:00:00", "end": "2055-01-14T07:00:00"}, "end"),
    ],
)
def test_an_override_that_means_nothing_is_refused(people, ops, changes, field):
    refused = people.otto.post_json(f"/api/oncall/schedules/{ops}/overrides", SWAP | changes, status=422).json
    assert list(refused["fields"]) == [field]


def test_overrides_that_are_over_are_forgotten_with_the_next(people, ops):
    people.otto.post_json(f"/api/oncall/schedules/{ops}/overrides", SWAP, status=201)
    people.clock.advance(5 * HOUR)
    later = {**SWAP, "start": "2055-01-16T07:00:00", "end": "2055-01-16T12:00:00"}
    people.otto.post_json(f"/api/oncall/schedules/{ops}/overrides", later, status=201)
    assert len(people.vera.get(f"/api/oncall/schedules/{ops}").json["overrides"]) == 1


def test_a_policy_names_what_is_there_and_holds_its_schedule(people, ops):
    steps = [{"schedules": [ops], "wait_s": 300}, {"users": ["ada"]}]
    made = people.ada.post_json("/api/oncall/policies", {"name": "All", "steps": steps, "repeat": 2}, status=201).json
    assert (made["steps"][1], made["severities"], made["enabled"]) == (
        {"schedules": [], "users": ["ada"], "wait_s": 600}, ["critical"], True)  # fmt: skip
    refused = people.ada.delete(f"/api/oncall/schedules/{ops}", status=409).json
    assert (refused["code"], "All" in refused["error"]) == ("in_use", True)
    people.ada.put_json(f"/api/oncall/policies/{made['id']}", {"steps": [{"users": ["ada"]}]})
    people.ada.delete(f"/api/oncall/schedules/{ops}")
    people.ada.delete(f"/api/oncall/policies/{made['id']}")
    assert people.vera.get("/api/oncall/policies").json == []


@pytest.mark.parametrize(
    ("step", "field"),
    [({}, "steps.0.users"), ({"schedules": ["gone"]}, "steps"), ({"users": ["nobody"]}, "steps"),
     ({"users": ["ada"], "wait_s": 0}, "steps.0.wait_s")],
)  # fmt: skip
def test_a_policy_that_calls_nobody_is_refused(people, step, field):
    refused = people.ada.post_json("/api/oncall/policies", {"name": "All", "steps": [step]}, status=422).json
    assert list(refused["fields"]) == [field]


def test_who_was_in_it_and_is_gone_hinders_no_other_change(people, ops):
    made = people.ada.post_json("/api/oncall/policies", {"name": "All", "steps": [{"users": ["otto"]}]}, status=201)
    people.ada.delete("/api/users/otto")
    people.ada.put_json(f"/api/oncall/schedules/{ops}", {"layers": [{**LAYER, "every": 2}]})
    people.ada.put_json(f"/api/oncall/policies/{made.json['id']}", {"repeat": 3})


def test_a_name_is_taken_once(people, ops):
    assert people.ada.post_json("/api/oncall/schedules", OPS, status=409).json["code"] == "name_taken"
    other = people.ada.post_json("/api/oncall/schedules", OPS | {"name": "Other"}, status=201).json["id"]
    people.ada.put_json(f"/api/oncall/schedules/{other}", {"name": "Ops"}, status=409)
    people.ada.put_json(f"/api/oncall/schedules/{ops}", {"name": "Ops"})


def test_what_people_change_is_in_the_audit_record(people, ops):
    made = people.otto.post_json(f"/api/oncall/schedules/{ops}/overrides", SWAP, status=201).json
    people.otto.delete(f"/api/oncall/schedules/{ops}/overrides/{made['id']}")
    actions = [entry["action"] for entry in people.ada.get("/api/audit").json]
    assert actions[:3] == ["oncall.override.delete", "oncall.override.create", "oncall.schedule.create"]


def test_the_page_says_who_is_on_call_who_is_next_and_what_keeps_a_call_away(people, ops):
    page = people.browser("vera").get("/oncall").html
    text = " ".join(page.main.get_text(" ").split())
    assert "otto is on call by Ops until" in text
    assert "Then ada." in text
    assert "No channel answers as otto, so calls do not arrive." in text
    assert "On call: otto" in page.select_one("#counts").get_text()
    people.ada.put_json(f"/api/oncall/schedules/{ops}", {"layers": [{**LAYER, "start": "2056-01-01"}]})
    page = people.browser("vera").get("/oncall").html
    assert "Nobody is on call by Ops" in " ".join(page.main.get_text(" ").split())
    assert "On call: nobody" in page.select_one("#counts").get_text()


def test_pages_say_when_by_the_clock_of_the_reader_or_of_the_schedule(people, ops):
    people.vera.put_json("/api/me/settings", {"timezone": "America/New_York"})
    browser = people.browser("vera")
    page = " ".join(browser.get("/oncall").html.main.get_text(" ").split())
    assert "otto is on call by Ops until 16 Jan 02:00 . Then ada." in page, "by the clock of the reader"
    shifts = browser.get(f"/oncall/schedules/{ops}").html.select_one("#shifts")
    assert "by the clock of Europe/Berlin" in shifts.header.get_text()
    assert [cell.get_text() for cell in shifts.select_one("tbody tr").select("td")] == [
        "otto", "Fri 15 Jan, 09:00", "Sat 16 Jan, 08:00", "layer 1"]  # fmt: skip


def test_an_operator_overrides_on_the_page_of_the_schedule(people, ops):
    browser = people.browser("otto")
    page = browser.get(f"/oncall/schedules/{ops}")
    form = next(form for form in page.forms.values() if "user" in form.fields)
    form["user"], form["start"], form["end"] = "vera", "2055-01-15T07:00", "2055-01-15T12:00"
    assert "The override is added." in form.submit().maybe_follow().text
    assert now(people)[0]["now"]["user"] == "vera"


def test_a_calendar_is_followed_by_an_address_that_can_be_revoked(people, ops):
    place = f"/api/oncall/schedules/{ops}/calendar"
    people.vera.post(place, status=403)
    first = people.otto.post(place, status=201).json["url"]
    visitor = people.anonymous
    text = visitor.get(first).text
    assert text.startswith("BEGIN:VCALENDAR\r\n")
    assert "X-WR-CALNAME:On call: Ops" in text
    shifts = people.vera.get(f"/api/oncall/schedules/{ops}/shifts?until={NOW + 48 * HOUR}").json
    for shift in shifts[1:]:
        assert f"UID:{ops}-{int(shift['start'])}@opsapp" in text
        assert f"SUMMARY:{shift['user'] or 'Nobody'} is on call" in text
    second = people.otto.post(place, status=201).json["url"]
    visitor.get(first, status=404)
    visitor.get(second, status=200)
    visitor.get(f"/api/oncall/calendars/{'0' * 64}", status=404)
    people.otto.delete(place)
    visitor.get(second, status=404)
    told = people.ada.get("/api/audit?limit=10").json
    assert {"oncall.calendar.create", "oncall.calendar.delete"} <= {entry["action"] for entry in told}
    assert second.rpartition("/")[2] not in str(told)


def test_the_days_of_a_layer_are_ticked(people):
    ada = people.browser("ada")
    page = ada.get("/oncall/new")
    form = next(form for form in page.forms.values() if "layers:count" in form.fields)
    form["name"], form["zone"] = "Weekends", "Europe/Berlin"
    page = form.submit("redraw", value="layers:add") if form["layers:count"].value == "0" else page
    form = next(form for form in page.forms.values() if "layers:count" in form.fields)
    ticks = [name for name in form.fields if name and name.startswith("layers:0:days:")]
    assert [name.rpartition(":")[2] for name in ticks] == ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    assert all(form[name].checked for name in ticks), "every day, unless it is said otherwise"
    for name in ticks[:5]:
        form[name].checked = False
    form["layers:0:users"], form["layers:0:start"] = "otto", "2026-01-05"
    page = form.submit("redraw", value="layers:add")
    form = next(form for form in page.forms.values() if "layers:count" in form.fields)
    assert [form[name].checked for name in ticks] == [False] * 5 + [True] * 2, "nothing is lost when a row is added"
    page = form.submit("redraw", value="layers:remove:1")
    form = next(form for form in page.forms.values() if "layers:count" in form.fields)
    form.submit().follow()
    made = next(row for row in people.ada.get("/api/oncall/schedules").json if row["name"] == "Weekends")
    assert made["layers"][0]["days"] == ["sat", "sun"]
    page = ada.get(f"/oncall/schedules/{made['id']}")
    form = next(form for form in page.forms.values() if "layers:count" in form.fields)
    assert [form[name].checked for name in ticks] == [False] * 5 + [True] * 2
    form["layers:0:days:sat"].checked = form["layers:0:days:sun"].checked = False
    form["layers:0:days:fri"].checked = True
    form.submit().follow()
    again = people.ada.get(f"/api/oncall/schedules/{made['id']}").json
    assert again["layers"][0]["days"] == ["fri"]
