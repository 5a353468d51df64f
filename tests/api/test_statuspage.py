"""/status, its feed, badges and stylesheet, and the same as files."""

import os
import re
from xml.etree import ElementTree

import pytest

from opsapp.cli import main
from opsapp.cli.statusexport import write
from opsapp.monitoring.records import StatusDocument
from opsapp.statuspages.records import PublicPage
from opsapp.ui.statuspage import LIVE
from opsapp.web.config import WebSettings
from opsapp.wire.records import made
from tests.support.monitoring import DOWN, UP, Lookout
from tests.support.targets import Website, website


@pytest.fixture
def shop(service):
    """(lookout, id of a public monitor that is up, id of a hidden one that is down)."""
    lookout = Lookout(service)
    shop = lookout.add(name="Shop", tags=["public"], retries=0)
    hidden = lookout.add(name="Hidden", retries=0)
    lookout.sees = {shop: UP, hidden: DOWN}
    lookout.run(60, step=5)
    return lookout, shop, hidden


def test_the_page_is_public_sets_no_cookie_and_runs_no_script(service, shop):
    page = service.anonymous.get("/status")
    assert page.content_type == "text/html"
    assert "Set-Cookie" not in page.headers
    assert "All systems operational" in page.text
    assert "Shop" in page.text
    assert "Hidden" not in page.text
    assert re.findall("<script[^>]*>", page.text) == [f'<script type="module" src="{LIVE.script}">']
    assert "style-src 'self'" in page.headers["Content-Security-Policy"]
    assert "unsafe-inline" not in page.headers["Content-Security-Policy"]
    styles = service.anonymous.get("/status.css")
    assert styles.content_type == "text/css"
    service.anonymous.post("/status", status=405)
    service.anonymous.get("/status/more", status=404)


def test_whoever_has_the_page_gets_304(service, shop):
    service.clock.advance(-service.clock.now() % 5)
    for path in ("/status", "/status.css", "/status.rss"):
        first = service.anonymous.get(path)
        assert first.headers["Cache-Control"] == "no-cache"
        again = service.anonymous.get(path, headers={"If-None-Match": first.headers["ETag"]})
        assert (again.status_int, again.body) == (304, b"")


def test_the_feed_tells_of_public_incidents(service, shop):
    lookout, shop_id, _ = shop
    lookout.sees[shop_id] = DOWN
    lookout.run(60, step=5)
    feed = service.anonymous.get("/status.rss")
    assert feed.content_type == "application/rss+xml"
    titles = [item.findtext("title") for item in ElementTree.fromstring(feed.body).findall("./channel/item")]
    assert titles == ["Shop: down"]
    service.configure(WebSettings, base_url="https://status.example")
    assert "<link>https://status.example/status</link>" in service.anonymous.get("/status.rss").text


def test_badges_of_public_monitors_alone(service, shop):
    _, shop_id, hidden = shop
    badge = service.anonymous.get(f"/status/badge/{shop_id}.svg")
    assert badge.content_type == "image/svg+xml"
    assert ElementTree.fromstring(badge.body).get("aria-label") == "Shop: operational"
    for path in (f"{hidden}.svg", f"{shop_id}.png", shop_id, "none.svg"):
        service.anonymous.get(f"/status/badge/{path}", status=404)


def test_the_page_as_files(service, shop, tmp_path):
    _, shop_id, _ = shop
    document = made(StatusDocument, service.anonymous.get("/api/monitoring/status-page").json)
    about = made(PublicPage, service.anonymous.get("/api/status/page").json)
    place = tmp_path / "www"
    write(place, about, document, "https://status.example")
    (place / "status" / "badge" / "gone.svg").write_text("old")
    write(place, about, document, "https://status.example")
    names = sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())
    wanted = [
        "face.css",
        "index.html",
        f"status/badge/{shop_id}.svg",
        "status.css",
        "status.js",
        "status.json",
        "status.rss",
    ]
    assert names == sorted(wanted)
    assert "Shop" in (place / "index.html").read_text()
    assert (place / "index.html").stat().st_mode & 0o777 == 0o644


def test_the_command_reads_a_store_that_nobody_serves(service, shop, tmp_path, capsys):
    service.node.stop()
    store = [f"--store=file://{tmp_path}/main.fs", f"--history-store=file://{tmp_path}/history.fs"]
    umask = os.umask(0o022)
    try:
        assert main(["status-export", str(tmp_path / "www"), *store]) == 0
        assert main(["status-export", str(tmp_path / "www"), "--url=http://127.0.0.1:9"]) == 1
    finally:
        os.umask(umask)
    said = capsys.readouterr()
    assert "1 components written" in said.out
    assert "cannot be asked" in said.err
    assert "Shop" in (tmp_path / "www" / "index.html").read_text()


def test_the_command_says_why_the_server_refuses(tmp_path, capsys):
    class Refusing(Website):
        def do_GET(self):
            self._answer(503, b'{"error": "The store is away."}')

    with website(handler=Refusing) as site:
        assert main(["status-export", str(tmp_path / "www"), f"--url={site.url}"]) == 1
    assert "the server answered 503: The store is away." in capsys.readouterr().err
