"""Every operation of the API is a part or an act of a page, or docs/guide/pages.md says why it has none."""

import json
import re
from pathlib import Path

from opsapp.ui.builder import needed
from opsapp.ui.plan import PAGES

ROOT = Path(__file__).resolve().parents[2]


def shape(operation):
    return re.sub(r"\{[^}]*\}", "{}", operation.partition("?")[0])


def operations():
    paths = json.loads((ROOT / "docs/openapi.json").read_text())["paths"]
    return {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}


def without_a_page():
    text = (ROOT / "docs/guide/pages.md").read_text().partition("## Operations of the API without")[2]
    return dict(re.findall(r"^\| `([A-Z]+ /[^`]+)` \| (.+) \|$", text, re.M))


def test_every_operation_has_a_place_or_a_reason():
    on_pages = {shape(api) for page in PAGES for api in needed(page, all=True)}
    lacking = {each for each in operations() if shape(each) not in on_pages}
    assert lacking <= without_a_page().keys(), "no page shows or does this, and docs/guide/pages.md has no reason"


def test_the_list_names_what_there_is_and_what_no_page_has():
    listed = without_a_page()
    on_pages = {shape(api) for page in PAGES for api in needed(page, all=True)}
    assert {api for api in listed if shape(api) in on_pages} == set(), "a page has it by now"
    assert len(listed) > 20
    assert listed.keys() <= operations()
