"""docs/guide as pages of the application, each made once and kept; `guide` has a link to each file. What looks like
HTML is shown as text. Links lead to other pages of the guide and to the web; others become plain words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from opsapp.assistants.interfaces import GuideText
from opsapp.ui.markup import markup

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

HERE = Path(__file__).parent / "guide"
PLACE = "/help"
GROUPS = (  # the order in which one reads it; a page that is not here comes last
    (
        "To begin",
        ("demo", "first-hour", "running", "packages", "switching", "users", "teams", "scim", "agents", "pages"),
    ),
    ("Watching", ("monitoring", "maintenance", "notifications", "oncall", "status-page", "deployments")),
    ("Acting", ("healing", "autonomy", "causes", "conditions", "actions", "automations", "assistants", "agent")),
    ("Running it for long", ("upgrade", "retention", "cluster", "metrics", "tracing", "audit", "as-code", "testing")),
)
FENCE = "```"
_HEADING = re.compile(r"(#{1,4}) (.+)")
_MARKS = re.compile(r"[`*]|\]\([^)]*\)|\[")


class GuideSection(NamedTuple):
    level: int
    title: str
    anchor: str
    words: str


class GuidePage(NamedTuple):
    """`sections` are those below the page's title, which `lead` follows."""

    name: str
    title: str
    lead: str
    sections: tuple[GuideSection, ...]

    @property
    def place(self) -> str:
        return f"{PLACE}/{self.name}"


class GuideHit(NamedTuple):
    title: str
    place: str
    page: str


@cache
def pages() -> dict[str, GuidePage]:
    order = [name for _, names in GROUPS for name in names]
    text_by_name = {path.stem: path.read_text() for path in HERE.glob("*.md")}
    names = sorted(text_by_name, key=lambda name: (order.index(name) if name in order else len(order), name))
    return {name: _page(name, text_by_name[name]) for name in names}


def groups() -> list[tuple[str, list[GuidePage]]]:
    known = dict(pages())
    shown = [(title, [known.pop(name) for name in names if name in known]) for title, names in GROUPS]
    return [(title, group) for title, group in [*shown, ("More", list(known.values()))] if group]


def _page(name: str, text: str) -> GuidePage:
    first, *sections = _sections(text)
    return GuidePage(name, first.title, _lead(text), tuple(sections))


def _lead(text: str) -> str:
    paragraph = _plain(text.partition("\n\n")[2].partition("\n\n")[0].splitlines())
    sentence = re.split(r"(?<=[.:]) ", paragraph)[0]
    return f"{sentence[:-1]}." if sentence.endswith((".", ":")) and sentence[0] not in "|#-" else ""


def _sections(text: str) -> Iterator[GuideSection]:
    taken: dict[str, int] = {}
    title, level, body = "", 1, list[str]()
    for line, heading in _lines(text):
        if heading is None:
            body.append(line)
            continue
        if title:
            yield GuideSection(level, title, anchor_of(title, taken), _plain(body))
        level, title, body = len(heading[1]), _MARKS.sub("", heading[2]), []
    yield GuideSection(level, title, anchor_of(title, taken), _plain(body))


def _lines(text: str) -> Iterator[tuple[str, re.Match[str] | None]]:
    fenced = False
    for line in text.splitlines():
        fenced ^= line.startswith(FENCE)
        yield line, None if fenced else _HEADING.fullmatch(line)


def _plain(lines: Iterable[str]) -> str:
    return " ".join(_MARKS.sub("", " ".join(lines)).split())


def anchor_of(title: str, taken: dict[str, int]) -> str:
    """Names a heading as places that show Markdown do; a second one of that name has a number."""
    anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    number = taken[anchor] = taken.get(anchor, -1) + 1
    return f"{anchor}-{number}" if number else anchor


def _begins(word: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}", text) is not None


def search(wanted: Sequence[str], most: int) -> list[GuideHit]:
    """Sections with words that begin with all of these, those with them in their titles first."""
    hits: list[tuple[int, int, GuideHit]] = []
    for page in pages().values():
        for section in (GuideSection(1, page.title, "", page.lead), *page.sections):
            whole = f"{page.title} {section.title} {section.words}".casefold()
            if all(_begins(word, whole) for word in wanted):
                named = sum(_begins(word, section.title.casefold()) for word in wanted)
                place = page.place + (f"#{section.anchor}" if section.anchor else "")
                hits.append((-named, len(hits), GuideHit(section.title, place, page.title)))
    return [hit for _, _, hit in sorted(hits)[:most]] if wanted else []


@cache
def texts() -> dict[str, GuideText]:
    """`IGuide`."""
    return {
        name: GuideText(name, page.title, page.lead, (HERE / f"{name}.md").read_text())
        for name, page in pages().items()
    }


@cache
def html(name: str) -> Markup:
    return rendered((HERE / f"{name}.md").read_text())


def rendered(text: str) -> Markup:
    tokens = _markdown().parse(text)
    taken: dict[str, int] = {}
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", anchor_of(_MARKS.sub("", tokens[number + 1].content), taken))
        elif token.type == "inline":
            token.children = list(_linked(token.children or ()))
        elif token.type in ("th_open", "td_open") and token.attrs.pop("style", "") == "text-align:right":
            token.attrSet("class", "num")  # the page's security policy allows no style of its own
        elif token.type in ("fence", "code_block"):
            token.attrSet("class", "out")
    end = next((n + 1 for n, token in enumerate(tokens) if token.type == "heading_close"), 0)
    return Markup(_markdown().renderer.render(tokens[end:], _markdown().options, {}))


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt  # sixty modules, which a service holds once somebody has opened the guide

    made = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    made.add_render_rule("table_open", _table_open)
    made.add_render_rule("table_close", lambda *_: "</table></div>\n")
    made.add_render_rule("fence", _example)
    made.add_render_rule("code_block", _example)
    return made


def _table_open(*_: object) -> str:
    return '<div class="scroll" role="region" aria-label="Table" tabindex="0"><table>\n'


def _example(_self: object, tokens: Sequence[Token], number: int, *_: object) -> str:
    """An example scrolls in itself; the keyboard reaches it."""
    shape = '<pre class="out" tabindex="0" role="region" aria-label="Example"><code>{}</code></pre>\n'
    return str(markup(shape, tokens[number].content))


def _linked(tokens: Iterable[Token]) -> Iterator[Token]:
    dropped = 0
    for token in tokens:
        if token.type == "link_open":
            place = place_of(str(token.attrGet("href")))
            dropped += not place
            if place:
                token.attrs = {"href": place}
                if place[0] not in "/#":
                    token.attrSet("rel", "noreferrer noopener")
                yield token
        elif token.type == "link_close" and dropped:
            dropped -= 1
        else:
            yield token


def place_of(href: str) -> str:
    """Nothing where a link leads to no page of the application, nor to the web."""
    if href.startswith(("#", "https://", "http://")):
        return href
    file, _, anchor = href.partition("#")
    name = file.removesuffix(".md")
    known = "/" not in file and file.endswith(".md") and name in pages()
    return f"{PLACE}/{name}" + (f"#{anchor}" if anchor else "") if known else ""
