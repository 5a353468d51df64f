"""The status page as admins set it: settings, logo, groups, as code, calendar, history, permalinks, forms."""

import base64
import re
import struct
import zlib

import pytest

from tests.support.monitoring import DOWN, UP, Lookout

from .test_rooms import form

EARLIER = re.compile(r'rel="prev" href="(/status/history\?month=\d{4}-\d\d)')
SETTINGS, LOGO = "/api/status/settings", "/api/status/logo"


def png(width=10, height=10, more=b""):
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk)) + more


def b64(data):
    return base64.b64encode(data).decode()


@pytest.fixture
def shop(service):
    lookout = Lookout(service)
    shop = lookout.add(name="Shop", tags=["public"], retries=0)
    lookout.sees = {shop: UP}
    lookout.run(60, step=5)
    return lookout, shop


def test_an_admin_sets_how_the_page_looks(service, shop):
    _, shop_id = shop
    settings = {
        "name": "Lindenhof",
        "description": "Books & more",
        "footer": "Call <b>us</b>",
        "site_url": "https://lindenhof.example/",
        "language": "de",
        "accent_light": "#1a5fb4",
        "groups": [{"name": "Trade", "monitors": [shop_id]}],
    }
    service.ada.put_json(SETTINGS, settings)
    shown = service.ada.get(SETTINGS).json
    assert shown["groups"] == [
        {"id": shown["groups"][0]["id"], "name": "Trade", "collapsed": False, "monitors": [shop_id]}
    ]
    service.ada.put_json(SETTINGS, shown)  # what a GET shows can be sent back
    assert service.ada.get(SETTINGS).json == shown
    page = service.anonymous.get("/status").text
    for words in ("Lindenhof", "Trade", "Call &lt;b&gt;us&lt;/b&gt;", 'lang="de"', "/status/theme.css"):
        assert words in page
    assert "#1a5fb4" in service.anonymous.get("/status/theme.css").text
    assert service.anonymous.get("/api/status/public").json["status"] == "ok"


@pytest.mark.parametrize(
    "wrong",
    [
        {"accent_light": "#ffff00"},
        {"accent_dark": "#000080"},
        {"accent_light": "red;}"},
        {"language": "tlh"},
        {"site_url": "javascript:alert(1)"},
        {"public_url": "https://u:p@status.example"},
        {"mail_server": "http://mail.example"},
        {"mail_server": "smtp://u:p@mail.example"},
        {"mail_from": "a@b.example\r\nBcc: c@d.example"},
        {"groups": [{"name": "A", "monitors": ["0123456789abcdef"]}]},
        {"groups": [{"name": "A"}, {"name": "A"}]},
        {"subscribe_by": ["pigeon"]},
    ],
)
@pytest.mark.shared
def test_what_cannot_be_is_refused_with_the_field(service, wrong):
    answer = service.ada.put_json(SETTINGS, wrong, status=422).json
    assert {name.partition(".")[0] for name in answer["fields"]} == set(wrong)


def test_the_mail_servers_password_is_never_shown(service):
    service.ada.put_json(SETTINGS, {"mail_server": "smtps://user:geheim@mail.example", "name": "X"})
    assert service.ada.get(SETTINGS).json["mail_server"] == "***"
    service.ada.put_json(SETTINGS, {"mail_server": "***"})
    assert service.ada.get(SETTINGS).json["mail_server"] == "***"
    exported = service.ada.get("/api/export")
    assert "geheim" not in exported.text + service.ada.get("/api/audit").text
    assert "geheim" not in service.anonymous.get("/api/status/page").text


def test_a_logo_is_what_its_bytes_say(service):
    made = service.ada.put_json(LOGO, {"image": b64(png())}).json
    assert made["kind"] == "image/png"
    picture = service.anonymous.get("/status/logo")
    assert (picture.content_type, picture.body) == ("image/png", png())
    assert picture.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in picture.headers["Content-Security-Policy"]
    assert "/status/logo?" in service.anonymous.get("/status").text
    jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08\x00\x10\x00\x20" + b"\0" * 12
    assert service.ada.put_json(LOGO, {"image": b64(jpeg)}).json["kind"] == "image/jpeg"
    service.ada.delete(LOGO)
    service.anonymous.get("/status/logo", status=404)


@pytest.mark.parametrize(
    "data",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"GIF89a" + b"\0" * 40,
        b"\x89PNG\r\n\x1a\n",
        png(9000, 1),
        png(0, 5),
        png(more=b"x" * 200_001),
        b"\xff\xd8\xff",
        b"<html>",
    ],
)
@pytest.mark.shared
def test_other_files_are_no_logo(service, data):
    assert set(service.ada.put_json(LOGO, {"image": b64(data)}, status=422).json["fields"]) == {"image"}


def test_the_page_as_code_names_monitors(service, shop):
    _, shop_id = shop
    groups = [{"name": "Trade", "monitors": [shop_id]}]
    service.ada.put_json(SETTINGS, {"name": "Lindenhof", "groups": groups})
    exported = service.ada.get("/api/export").json
    assert exported["status_page"][0]["groups"] == [{"name": "Trade", "collapsed": False, "monitors": ["Shop"]}]
    before = service.ada.get(SETTINGS).json
    again = service.ada.post_json("/api/apply", {"document": {"status_page": exported["status_page"]}}).json
    assert again["changes"] == []
    changed = [exported["status_page"][0] | {"name": "Neu"}]
    service.ada.post_json("/api/apply", {"document": {"status_page": changed}})
    assert service.ada.get(SETTINGS).json == before | {"name": "Neu"}
    unknown = [changed[0] | {"groups": [{"name": "Trade", "monitors": ["Nobody"]}]}]
    service.ada.post_json("/api/apply", {"document": {"status_page": unknown}}, status=422)
    service.ada.post_json("/api/apply", {"document": {"status_page": []}, "prune": True})
    assert service.ada.get(SETTINGS).json["name"] == "Status"


def test_an_incident_has_a_page_of_its_own_and_others_have_none(service, shop):
    lookout, shop_id = shop
    hidden = lookout.add(name="Hidden", retries=0)
    lookout.sees |= {shop_id: DOWN, hidden: DOWN}
    lookout.run(60, step=5)
    own, other = (lookout.incidents(f"monitor_id={each}")[0]["id"] for each in (shop_id, hidden))
    for public, message in ((True, "Orders wait."), (False, "It is db-7.")):
        update = {"stage": "identified", "message": message, "public": public}
        service.otto.post_json(f"/api/monitoring/incidents/{own}/updates", update)
    page = service.anonymous.get(f"/status/incidents/{own}").text
    assert "Shop is down" in page
    assert "Orders wait." in page
    assert "db-7" not in page
    assert "HTTP 500" not in page
    for path in (f"incidents/{other}", "incidents/none", f"monitors/{hidden}", "monitors/none", "nothing"):
        service.anonymous.get(f"/status/{path}", status=404)
    days = service.anonymous.get(f"/status/monitors/{shop_id}").text
    assert days.count("<tr>") == 3, "the titles, today, and all days before it, which have no data"


def test_history_goes_by_month(service, shop):
    lookout, shop_id = shop
    lookout.sees[shop_id] = DOWN
    lookout.run(60, step=5)
    month = service.anonymous.get("/status/history").text
    assert "Shop is down" in month
    assert EARLIER.search(month) is None, "nothing was there before"
    lookout.sees[shop_id] = UP
    lookout.run(60, step=5)
    service.clock.advance(40 * 86_400)
    pages, path = [], "/status/history"
    while path:  # a crawler comes to an end
        pages.append(service.anonymous.get(path).text)
        link = EARLIER.search(pages[-1])
        path = link and link[1]
    assert "Nothing to report." in pages[0]
    assert "Shop was down" in pages[-1]
    assert len(pages) in (2, 3)
    for wrong in ("2026-13", "x", "0000-00", "2026-1"):
        service.anonymous.get(f"/status/history?month={wrong}", status=422)


def test_the_page_is_packed_for_whoever_can_unpack_it(service, shop):
    plain = service.anonymous.get("/status", headers={"Accept-Encoding": "identity"})
    assert "Content-Encoding" not in plain.headers
    assert "Accept-Encoding" in plain.headers["Vary"]
    packed = service.anonymous.get("/status", headers={"Accept-Encoding": "gzip, br"})  # the client unpacks
    assert packed.text == plain.text


def test_strangers_may_not_send_much(service):
    body = {"kind": "mail", "address": "a@example.org", "groups": ["x" * 60] * 150}
    assert service.anonymous.post_json("/api/status/subscriptions", body, status=422).json["code"] == "invalid"
    service.anonymous.post("/status/subscribe", {"kind": "mail", "address": "x" * 5000}, status=422)
    service.anonymous.post("/status/subscribe", {"kind": "owl", "address": "a@example.org"}, status=422)


def test_groups_are_rows_that_name_monitors(service, shop):
    _, shop_id = shop
    ada = service.browser("ada")
    asked = form(ada.get("/statuspage"), "settings.look")
    asked.submit(status=303)
    assert service.ada.get(SETTINGS).json["groups"] == [], "an empty row is none"
    asked["groups:0:name"], asked["groups:0:monitors"] = "Trade", "shop"
    asked.submit(status=303)
    group = service.ada.get(SETTINGS).json["groups"][0]
    assert (group["name"], group["monitors"]) == ("Trade", [shop_id])
    asked = form(ada.get("/statuspage"), "settings.look")
    assert asked["groups:0:monitors"].value == "Shop"
    asked["groups:0:name"] = "Commerce"
    asked.submit(status=303)
    assert service.ada.get(SETTINGS).json["groups"] == [group | {"name": "Commerce"}], "it is the same group"
    asked = form(ada.get("/statuspage"), "settings.look")
    asked["groups:0:monitors"] = "Shop, Nothing"
    refused = asked.submit(status=422)
    assert "There is no monitor called Nothing" in refused.html.select_one("#look .err").text
    assert form(refused, "settings.look")["groups:0:monitors"].value == "Shop, Nothing"


def test_the_page_has_what_is_stored_and_says_who_is_told(service, shop):
    service.ada.put_json(SETTINGS, {"name": "Lindenhof", "language": "de"})
    page = service.browser("ada").get("/statuspage")
    asked = form(page, "settings.look")
    assert (asked["name"].value, asked["language"].value) == ("Lindenhof", "de")
    assert "Nobody has subscribed yet." in page.html.select_one("#subscribers").text
    asked["accent_light"] = "beige"
    refused = asked.submit(status=422)
    assert refused.html.select_one("#look .err")
    assert form(refused, "settings.look")["accent_light"].value == "beige"


def test_the_store_has_what_a_version_before_reads_and_wrote(service, shop):
    _, shop_id = shop
    given = {"name": "Lindenhof", "subscribe_by": ["webhook", "mail"], "mail_server": "smtps://u:geheim@mail.example"}
    service.ada.put_json(SETTINGS, given | {"groups": [{"name": "Trade", "monitors": [shop_id]}]})
    stored = service.read(lambda root: root.system["status_page"].settings)
    assert stored == {
        "name": "Lindenhof", "description": "", "site_url": None, "public_url": None, "footer": "", "language": "en",
        "accent_light": None, "accent_dark": None, "subscribe_by": ["mail", "webhook"], "mail_from": None,
        "groups": [{"id": stored["groups"][0]["id"], "name": "Trade", "collapsed": False, "monitors": [shop_id]}],
    }  # fmt: skip

    def write(root):
        root.system["status_page"].settings = {"name": "Older", "gone": 1}

    service.transact(write)
    shown = service.ada.get(SETTINGS).json
    assert (shown["name"], shown["language"], shown["groups"], shown["mail_server"]) == ("Older", "en", [], "***")
    service.ada.put_json(SETTINGS, {"footer": "x"})
    assert service.read(lambda root: root.system["status_page"].settings["gone"]) == 1, "it may be of a newer version"
