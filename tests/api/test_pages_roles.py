"""What a page offers its reader, the API lets the reader do: every link and every form of every page, as each role.

A form is not sent, for that would change what the next page shows: its operation is called with a body that no view
accepts. Links are followed from the overview and from each page of the table.
"""

import re
from collections import Counter
from functools import cache, partial
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest

import opsapp
from opsapp.runtime.events import read_since
from opsapp.ui import builder
from opsapp.ui.drafts import SAVE
from opsapp.ui.many import UNCONFIRMED
from opsapp.ui.plan import PAGES
from opsapp.web.openapi import endpoints
from tests.engine.healing import Ward
from tests.support import estate
from tests.support.app import ROLES
from tests.support.estate import fill
from tests.support.refused import refuses

OF_A_KIND = 2  # so many pages that differ in ids and words only are looked at
CONDITION = {"condition": "cpu_percent > 90"}  # a draft of a rule asks about it
NOT_OPERATIONS = {"many", "draft"}  # they show the form again
LIVE = Path(opsapp.__file__).parent / "ui/static/live.js"
HTML = ("text/html", None)
UNKNOWN_BODY = b'{"no view knows this key": 1}'
OPENING, ATTRIBUTE = re.compile(r"<([a-z]+)\s([^<>]*)>"), re.compile(r'([a-z-]+)="([^"]*)"')
TOKEN = re.compile(r'<input[^<>]*\bname="(?:csrf_token|once)"[^<>]*>')
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A service with one of each kind of thing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
        ward = Ward(tmp_path_factory.mktemp("full"))
    fill(ward)
    yield ward.service
    ward.close()


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
        ward = Ward(tmp_path_factory.mktemp("empty"))
    yield ward.service
    ward.close()


class OfferedForm(NamedTuple):
    """`fields` are the attributes of all that has a name in it."""

    attrs: dict[str, str]
    fields: list[dict[str, str]]


class Offered(HTMLParser):
    """What a page offers: where it leads to, what it can send, the ticks of rows by their form, and what its head says
    of what the reader may not. Of a thousand pages no tree is made: that takes longer than to make the page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.forms, self.ticks, self.withheld = [], [], {}, []
        self.open = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attrs = {name: value or "" for name, value in attrs}
        classes = attrs.get("class", "").split()
        if tag not in VOID:
            self.open.append((tag, classes))
        if tag == "a" and "href" in attrs:
            self.links.append(attrs["href"])
        if tag == "form":
            self.forms.append(OfferedForm(attrs, []))
        elif "name" in attrs and self.is_within("form"):
            self.forms[-1].fields.append(attrs)
        if "pick" in classes and "form" in attrs:
            self.ticks.setdefault(attrs["form"], attrs["name"])
        if tag == "p" and self.is_withheld():
            self.withheld.append("")

    def handle_endtag(self, tag):
        if self.is_within(tag):
            while self.open.pop()[0] != tag:
                pass

    def handle_data(self, data):
        if self.is_within("p") and self.is_withheld():
            self.withheld[-1] += data

    def is_within(self, tag):
        return any(name == tag for name, _ in self.open)

    def is_withheld(self):
        """Within `main .head .withheld`."""
        wanted = ["main", ".head", ".withheld"]
        for tag, classes in self.open:
            if wanted and (tag == wanted[0] or wanted[0][1:] in classes):
                wanted.pop(0)
        return not wanted


class Visitor:
    """Goes to every page that links lead to. `wrong` says what was offered and refused, `seen` which pages there were,
    `refused` which of the table were not for this reader, `asked` which operations they offered, and at which path,
    `said` what each page says of what its reader may not."""

    def __init__(self, service, who):
        self.service, self.who = service, who
        self.browser, self.client = service.browser(who), service.client(who)
        known = builder.known_of(service.app.registry)
        self.page_at = cache(partial(builder.find, known))  # the same links stand on every page
        self.wrong, self.seen, self.asked, self.refused = set(), set(), set(), set()
        self.kinds = Counter()
        self.said = {}

    def visit_all(self):
        left = [(page.path, "the table") for page in PAGES if "{" not in page.path]
        while left:
            address, source = left.pop()
            kind = self.kind_of(address)
            self.kinds[kind] += 1
            if self.kinds[kind] <= OF_A_KIND:
                left += [(link, address) for link in self.visit(address, source)]
        return self

    def kind_of(self, address):
        path, _, query = address.partition("?")
        found = self.page_at(path)
        names = frozenset(part.partition("=")[0] for part in query.split("&"))
        return (found[0].path if found else re.sub(r"[0-9a-f]{16,}", "*", path), names)

    def visit(self, address, source):
        answer = self.browser.get(address, expect_errors=True)
        if answer.status_int == 403 and source == "the table":
            self.refused.add(address)
        elif answer.status_int != 200:
            self.wrong.add(f"{source} leads to {address}: {answer.status}")
        if answer.status_int != 200:
            return []
        if answer.content_type != "text/html":
            return []
        found = self.page_at(address.partition("?")[0])
        offered = Offered(answer.text)
        if found:
            self.seen.add(found[0].path)
            self.said[found[0].path] = offered.withheld
            for form in offered.forms:
                if form.attrs.get("method") == "post":
                    self.look_at(form, address.partition("?")[0], offered.ticks)
        return places_of(offered.links, address)

    def look_at(self, form, path, ticks):
        place = (form.attrs.get("action") or path).partition("?")[0].partition("#")[0]
        found = self.page_at(place)
        if found is None:
            assert place == "/logout"
            return
        page, ids = found
        filled_in = {field["name"]: field.get("value", "") for field in form.fields} | CONDITION
        row = {name[4:]: text for name, text in filled_in.items() if name.startswith("row-")} | ids
        for button in form.fields:
            if button["name"] not in ("act", "do"):
                continue
            if form.attrs.get("id", "").startswith("many-"):
                row |= first_row(page, ticks.get(form.attrs["id"]))
            if button["name"] == "do" and page.draft:
                save = button["value"] == SAVE and page.draft.save
                questions = [save(filled_in, ids)] if save else page.draft.questions(filled_in, ids, {})
                for question in questions:
                    self.call(page, button["value"], question.api, row)
            elif button["value"] not in NOT_OPERATIONS:
                act = builder.act_of(page, button["value"])
                self.call(page, button["value"], act and act.api, row)

    def call(self, page, name, api, row):
        path = api and builder.filled(api.partition(" ")[2], row)
        if path is None:
            self.wrong.add(f"{page.path} has a form that does nothing: {name}")
        elif (api, path) not in self.asked:
            self.asked.add((api, path))
            request = {"method": api.partition(" ")[0], "expect_errors": True, "content_type": "application/json"}
            answer = self.client.request(path, body=UNKNOWN_BODY, **request)
            if answer.status_int == 403 and answer.json.get("code") != UNCONFIRMED:
                self.wrong.add(f"{page.path} offers {name}: {answer.json['error']}")


def first_row(page, tick):
    """What acts on many rows need of the first one that may be chosen."""
    names = {name for part in page.parts for act in part.acts if act.many for name in builder.names_of(act)}
    return dict.fromkeys(names, tick.partition(":")[2] if tick else "0" * 16)


def places_of(hrefs, address):
    """Where a page leads to on this service, by itself."""
    links = []
    for href in hrefs:
        place = href.partition("#")[0]
        if place.startswith("?"):
            place = address.partition("?")[0] + place
        if place.startswith("/") and not place.startswith(("/static", "/api/docs")):
            links.append(place)
    return sorted(set(links))


FILES = {"/incidents/{id}/post-mortem.md"}


@pytest.mark.parametrize("who", ROLES)
def test_a_full_service_offers_only_what_it_lets_do_and_says_who_may_do_the_rest(full, who):
    visitor = Visitor(full, who).visit_all()
    assert who != "ada" or {page.path for page in PAGES} - visitor.seen == FILES
    assert sorted(visitor.wrong) == [], "\n".join(sorted(visitor.wrong))
    assert visitor.refused == {page.path for page in PAGES if "{" not in page.path and refuses(who, page.path)}
    says_what_the_role_leaves_out(full, ROLES[who], visitor.said)


def says_what_the_role_leaves_out(full, role, said):
    """What a page keeps from its reader stands in its head, with the role that it takes."""
    known = builder.known_of(full.app.registry)
    for page in PAGES:
        kept = builder.withheld_of(known, page, role)
        wanted = [f"{higher.role.capitalize()}s can: {', '.join(higher.acts)}." for higher in kept]
        assert said.get(page.path, wanted) == wanted, page.path
    fewest = {"viewer": 20, "operator": 10, "admin": 0}[role]
    assert sum(bool(sentences) for sentences in said.values()) >= fewest


@pytest.mark.parametrize("who", ROLES)
def test_an_empty_service_offers_only_what_it_lets_do(empty, who):
    visitor = Visitor(empty, who).visit_all()
    assert sorted(visitor.wrong) == [], "\n".join(sorted(visitor.wrong))


def menu_of(answer):
    return [link["href"] for link in answer.html.select(".side nav a, .tabs a")][:-1]  # the last is the help of a page


@pytest.mark.parametrize(
    ("who", "method", "place", "whom", "back"),
    [
        ("vera", "GET", "/monitors/new", "an operator or an admin", "/monitors"),
        ("vera", "POST", "/monitors/new", "an operator or an admin", "/monitors"),
        ("vera", "GET", "/healing/rules/new", "an operator or an admin", "/healing/rules"),
        ("vera", "GET", "/users", "an admin", None),
        ("otto", "GET", "/agents/add", "an admin", "/agents"),
        ("otto", "GET", "/settings/service", "an admin", "/settings"),
        ("otto", "GET", "/healing/rules/again/clone", "an admin", "/healing/rules/again"),
        ("otto", "POST", "/healing/trust", "an admin", "/healing/trust"),
    ],
)
def test_who_is_refused_a_page_is_told_whom_to_ask_and_is_led_back(full, who, method, place, whom, back):
    acts = {"/monitors/new": "create", "/healing/trust": "trust.demote"}
    browser = full.browser(who)
    if method == "GET":
        answer = browser.get(place, status=403)
    else:
        token = browser.get("/").html.select_one('meta[name="csrf-token"]')["content"]
        form = {"csrf_token": token, "act": acts[place], "row-rule_id": "again", "level": "notify"}
        answer = browser.post(place, form, status=403)
    assert answer.html.h1.get_text() == "Not allowed"
    assert menu_of(answer) == menu_of(browser.get("/"))
    words = answer.html.find(role="alert").get_text()
    assert ROLES[who] in words
    assert f"Ask {whom} to do it" in words
    link = answer.html.select_one("main .btn.first")
    assert (link["href"] if link else None) == back
    if back:
        assert browser.get(back).status_int == 200


def test_who_asks_for_what_is_gone_is_led_to_the_list(full):
    answer = full.browser("vera").get("/monitors/0123456789abcdef", status=404)
    assert answer.html.select_one("main .btn.first")["href"] == "/monitors"


def test_no_page_is_left_out_of_those_that_are_measured(full):
    addresses = estate.addresses(full)
    views = [
        view for view in endpoints(full.app.registry) if view.method == "GET" and view.options.get("returns") in HTML
    ]
    paths = {
        view.path for view in views if not view.path.startswith(("/api/", "/scim/")) and "{token}" not in view.path
    }
    paths = paths - {"/{page}", "/static"} | {page.path for page in PAGES if not page.file} | {"/api/docs"}
    assert {"/login", "/status/history"} <= paths
    shown = {path: re.compile(re.sub(r"\\{\w+\\}", "[^/?]+", re.escape(path)) + r"(\?.*)?") for path in paths}
    assert [path for path in sorted(paths) if not any(shown[path].fullmatch(address) for address in addresses)] == []
    assert {full.browser("ada").get(address).content_type for address in addresses} == {"text/html"}


class LivePart(NamedTuple):
    """An element that is asked for anew. `rest` is the page's text from its content on."""

    tag: str
    attrs: dict[str, str]
    rest: str

    def is_filled_with(self, text):
        return lasting(self.rest).startswith(lasting(text) + f"</{self.tag}>")


def live_parts(browser, page, **more):
    text = browser.get(page, **more).text
    found = []
    for opening in OPENING.finditer(text):
        attrs = {name: unescape(value) for name, value in ATTRIBUTE.findall(opening[2])}
        if {"data-live", "id"} <= attrs.keys():
            found.append(LivePart(opening[1], attrs, text[opening.end() :]))
    return found


@pytest.fixture(scope="module")
def parts_of(full):
    """Of each page, as an admin sees it: the attributes of the parts that it asks for anew."""
    ada = full.browser("ada")
    return {page: [part.attrs for part in live_parts(ada, page)] for page in estate.addresses(full)}


@pytest.mark.parametrize("role", ["ada", "otto", "vera"])
def test_a_part_that_comes_alone_is_what_the_page_has_in_its_place(full, role):
    """It is made of less than the page is, for some. What is not of the page itself is answered too."""
    browser, differing, compared = full.browser(role), [], set()
    for page in estate.addresses(full):
        for part in live_parts(browser, page, expect_errors=True):  # a role does not reach every page
            place, name = part.attrs.get("data-live-from", page), part.attrs["id"]
            alone = browser.get(place, headers={"X-Part": name}, expect_errors=True)
            compared.add(name)
            is_elsewhere = name == "counts" or place != page
            if alone.status_int != 200 or not (is_elsewhere or part.is_filled_with(alone.text)):
                differing.append((page, name))
    assert differing == []
    narrow = {block.name for page in PAGES for block in page.blocks}
    # No host is new, no plugin runs, no event changes what was; what a window covers a form's script asks for.
    unseen = {"arrival", "plugin", "moment-at", "moment-live", "covered"}
    assert narrow - compared == unseen


def test_parts_that_are_asked_for_together_are_those_that_come_alone(full, parts_of):
    ada, together = full.browser("ada"), 0
    for page, parts in parts_of.items():
        names = [part["id"] for part in parts if "data-live-from" not in part]
        if len(names) > 1:
            alone = {name: lasting(ada.get(page, headers={"X-Part": name}).text) for name in names}
            answer = ada.get(page, headers={"X-Part": " ".join(names)}).json
            assert {name: lasting(text) for name, text in answer.items()} == alone, page
            together += 1
    assert together > 20
    ada.get("/monitors", headers={"X-Part": "rows no-such-thing"}, status=404)


def lasting(text):
    """What does not change from answer to answer: without the tokens of forms, and white space."""
    return "".join(TOKEN.sub("", text).split())


def test_pages_wait_for_events_that_there_are(full, parts_of):
    live = [part["data-live"] for parts in parts_of.values() for part in parts]
    awaited = {wish.partition(":")[0] for wishes in live for wish in wishes.split()}
    told = {event.kind for event in full.read(lambda root: read_since(root, {})[1])}
    heard = set(re.findall(r'"(\w+)"', re.search(r"const KINDS = \[(.*)\]", LIVE.read_text())[1]))
    assert awaited - told <= {"command", "heal"}  # nothing is asked of a host here, and no case ends
    assert awaited - heard == set()
