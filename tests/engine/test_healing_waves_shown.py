"""What people see of waves, and who may switch them off."""

import pytest

from opsapp.healing.answers import CaseWave
from opsapp.healing.config import HealingSettings
from opsapp.healing.engine import clocks
from opsapp.healing.engine.overview import MOST_CASES
from opsapp.healing.engine.warroom import section
from opsapp.healing.logic.waves import WaveSizes
from opsapp.healing.resources.cases import Case
from opsapp.ui.shapes.case import wave_words
from opsapp.ui.shapes.incidents import HealOfIncident, waves_told
from opsapp.web import configfile
from opsapp.wire.records import made
from tests.engine.outage import DOWN, decide, deeds, fleets
from tests.support.incidents import open_incident


@pytest.fixture
def fleet(ward):
    return fleets(ward)


def page(outage, path, part):
    return outage.here.service.browser("otto").get(path).html.select_one(part).get_text(" ", strip=True)


def waiting(outage):
    return next(case for case in outage.here.cases if case["deed"] and not case["wave"])


def test_a_case_that_waits_says_where_its_outage_stands(fleet):
    outage = fleet(31)
    while len(outage.acted) < 4:
        outage.step()
    case = waiting(outage)
    path = f"/healing/cases/{case['id']}"
    assert "wave 2 of 4: 3 of 31 hosts, 27 wait for its verdict" in page(outage, path, "#about")
    assert "Wave 1 1 1 verified" in page(outage, path, "#waves")
    assert "Wave 2 3 3 at work" in page(outage, path, "#waves")
    assert "Later 27 27 wait" in page(outage, path, "#waves")
    assert "Its turn comes if those before it are well." in page(outage, path, "#next")
    wave = outage.here.service.vera.get(f"/api{path}").json["wave"]
    assert wave == {"number": 0, "wave": 2, "waves": 4, "hosts": 3, "waiting": 27, "targets": 31, "stopped": "",
                    "compared_at": None, "counts": [counted(1, 1, well=1), counted(2, 3)]}  # fmt: skip


def counted(number, hosts, **ends):
    return {"number": number, "hosts": hosts, "well": 0, "harm": 0, "unknown": 0, "left": 0, **ends}


def test_a_case_that_was_not_begun_says_why(fleet):
    outage = fleet(5, "nothing").until_quiet()
    case = next(case for case in outage.here.cases if case["outcome"] == "withdrawn")
    wave = outage.here.service.vera.get(f"/api/healing/cases/{case['id']}").json["wave"]
    assert wave["stopped"].startswith("h")
    assert "stopped in wave 1 of 4: 1 of 5 hosts, 1 not healed: h" in page(
        outage, f"/healing/cases/{case['id']}", "#about"
    )


def test_a_case_alone_has_no_waves(fleet):
    outage = fleet(1).until_quiet()
    [case] = outage.here.cases
    assert outage.here.service.vera.get(f"/api/healing/cases/{case['id']}").json["wave"] is None


def test_the_request_shows_every_target_and_the_waves(fleet):
    outage = fleet(4, level="approve").until_asked()
    [asked] = outage.here.service.vera.get("/api/approvals").json
    shown = page(outage, f"/approvals/{asked['request_id']}", "main")
    assert "on 4 targets ?" in shown
    assert all(f"h{n}" in shown for n in range(4))
    assert "first 1, then 10 %, 50 %, 100 %" in shown
    assert "4 targets" in page(outage, "/approvals", "main")


def test_the_request_of_a_large_outage_reads_few_of_its_cases(fleet, monkeypatch):
    outage, read = fleet(60, level="approve").until_asked(), set()
    [asked] = outage.here.service.vera.get("/api/approvals").json
    otto, load = outage.here.service.browser("otto"), Case.__setstate__

    def noting(case, state):
        read.add(case._p_oid)
        load(case, state)

    monkeypatch.setattr(Case, "__setstate__", noting)
    outage.here.node.store.db.cacheMinimize()
    otto.get(f"/approvals/{asked['request_id']}")
    assert len(read) <= MOST_CASES + 1
    overview = outage.here.service.vera.get("/api/overview").json
    assert (overview["cases_total"], len(overview["cases"])) == (60, MOST_CASES)


@pytest.mark.parametrize(("who", "status"), [("otto", 403), ("ada", 200)])
def test_only_an_admin_switches_waves_off(fleet, who, status):
    here = fleet(1).here
    here.service.client(who).put_json("/api/healing/rules/down", {"waves": "off"}, status=status)
    assert here.service.vera.get("/api/healing/rules/down").json["waves"] == ("off" if status == 200 else None)


@pytest.mark.parametrize(
    ("waves", "wrong"),
    [
        ("on", "waves"),
        (3, "waves"),
        ({"first": 0}, "waves.first"),
        ({"growth": []}, "waves.growth"),
        ({"growth": [2]}, "waves.growth"),
        ({"last": 1}, "waves.last"),
    ],
)
def test_what_is_no_wave_is_refused_by_name(fleet, waves, wrong):
    answer = fleet(1).here.service.client("ada").put_json("/api/healing/rules/down", {"waves": waves}, status=422)
    assert list(answer.json["fields"]) == [wrong]


def test_a_rule_keeps_its_own_and_gives_it_back(fleet):
    ada = fleet(1).here.service.client("ada")
    ada.put_json("/api/healing/rules/down", {"waves": {"first": 2}})
    rule = ada.get("/api/healing/rules/down").json
    assert rule["waves"] == {"first": 2, "growth": [0.1, 0.5, 1]}
    ada.put_json("/api/healing/rules/down", rule)
    assert ada.get("/api/healing/rules/down").json["waves"] == rule["waves"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", WaveSizes(1, (0.1, 0.5, 1))),
        ("{waves: off}", "off"),
        ("{waves: 'off'}", "off"),
        ("{waves: {first: 2, growth: [0.5, 1]}}", WaveSizes(2, (0.5, 1))),
    ],
)
def test_the_section_of_the_yaml_file(fleet, tmp_path, text, expected):
    sections = fleet(1).here.service.app.registry.opsapp_sections
    path = tmp_path / "opsapp.yaml"
    path.write_text(f"healing: {text}\n")
    assert configfile.read(path, sections)[HealingSettings].waves == expected


def test_a_rule_of_the_yaml_file_may_say_off(fleet, tmp_path):
    sections = fleet(1).here.service.app.registry.opsapp_sections
    path = tmp_path / "opsapp.yaml"
    path.write_text("healing: {rules: [{id: a, condition: down == 1, action: {type: clear_cache}, waves: off}]}\n")
    [rule] = configfile.read(path, sections)[HealingSettings].rules
    assert rule.waves == "off"


def test_a_step_of_the_clock_moves_the_outage_with_it(fleet):
    outage = fleet(4)
    while not outage.acted:
        outage.step()
    [before] = deeds(outage)
    outage.here.node.transact(clocks.move, 3600)
    while outage.here.node.transact(clocks.move_on):
        pass
    [after] = deeds(outage)
    assert after.began_at == before.began_at + 3600


def test_a_case_whose_request_was_approved_says_that_it_waits_for_its_wave(fleet):
    outage = fleet(4, level="approve").until_asked()
    decide(outage)
    while not outage.acted:
        outage.step()
    assert "healed in waves" in page(outage, f"/healing/cases/{waiting(outage)['id']}", "#next")
    assert DOWN["id"] == waiting(outage)["rule_id"]


def edited(here, status, who="ada", **values):
    """The editor of the rule with these fields changed, and saved."""
    browser = here.service.browser(who)
    fields = dict(browser.get("/healing/rules/down").forms["rule"].submit_fields())
    return browser.post("/healing/rules/down", {**fields, "do": "save", **values}, status=status)


def test_the_editor_shows_the_waves_and_saves_them(fleet):
    here = fleet(1).here

    def saved(text):
        edited(here, 303, waves=text)
        return here.service.vera.get("/api/healing/rules/down").json["waves"]

    assert saved("2, 25 %, 100 %") == {"first": 2, "growth": [0.25, 1]}
    assert here.service.browser("ada").get("/healing/rules/down").forms["rule"]["waves"].value == "2, 25 %, 100 %"
    assert saved("3") == {"first": 3, "growth": [0.1, 0.5, 1]}
    assert saved("off") == "off"
    assert saved("") is None


@pytest.mark.parametrize("waves", ["1, 200 %", "few", "0, 10 %", "1, half"])
def test_the_editor_says_what_is_no_wave_beside_the_field(fleet, waves):
    answer = edited(fleet(1).here, 422, waves=waves)
    assert answer.html.select_one("#waves-wrong").get_text(strip=True)
    assert answer.forms["rule"]["waves"].value == waves


def test_off_in_the_editor_needs_an_admin(fleet):
    here = fleet(1).here
    edited(here, 403, who="otto", waves="off")
    assert here.service.vera.get("/api/healing/rules/down").json["waves"] is None


def test_the_war_room_says_where_the_outage_stands(fleet):
    outage = fleet(4).until_quiet()

    def heals(root):
        now = outage.here.clock.now()
        return section(root, open_incident("m1", "h0", now - 300), now).heals

    [heal] = outage.here.node.transact(heals)
    assert (heal["target"], heal["wave"]["targets"], heal["wave"]["waiting"]) == ("h0", 4, 0)
    assert wave_words(made(CaseWave, heal["wave"])) == "wave 3 of 3: 2 of 4 hosts, 2 verified"
    [line] = waves_told([made(HealOfIncident, heal)] * 2)
    assert "Wave 3 of 3" in line.text
