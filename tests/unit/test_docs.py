"""The guide can be read: short lines, short sentences, links that lead somewhere, commands that a test runs."""

from __future__ import annotations

import pathlib
import re

import pytest

from tests.support.documented_commands import documented
from tests.support.documented_runs import NOT_RUN, row_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = sorted((ROOT / "docs/guide").glob("*.md"))
PAGES = [
    *GUIDE,
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/adr").glob("*.md")),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
]
LONGEST_LINE = 100  # tables and examples apart: they cannot be wrapped
MEAN_WORDS = 25


def prose(page):
    """Lines of a page without its examples, tables and headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    return [line for line in text.split("\n") if not line.startswith(("|", "#", "    "))]


def sentences(page):
    parts = re.split(r"(?<=[.!?])\s+|\n\n|\n\s*(?:[-*]|\d+\.)\s", "\n".join(prose(page)))
    return [part.split() for part in parts if len(part.split()) > 2]


def name(page):
    return str(page.relative_to(ROOT))


def test_there_is_a_guide():
    assert len(GUIDE) > 10


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_lines_are_short(page):
    assert [line for line in prose(page) if len(line) > LONGEST_LINE and " " in line.strip()] == []


@pytest.mark.parametrize("page", GUIDE, ids=name)
def test_sentences_are_short(page):
    words = [len(sentence) for sentence in sentences(page)]
    assert sum(words) / len(words) <= MEAN_WORDS


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_files_that_exist(page):
    targets = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_command_is_run_by_a_test():
    rows = {command: row_of(command) for command in documented()}
    without = [command for command, row in rows.items() if row is None]
    assert without == [], "give each a row in tests/support/documented_runs.py"
    for row in rows.values():
        if not row.test.startswith(NOT_RUN):
            path, function = re.match(r"([\w/]+\.py)(?:::(\w+))?", row.test).groups()
            assert (ROOT / path).exists(), row
            assert f"def {function or ''}" in (ROOT / path).read_text(), row


def test_nothing_is_installed_by_a_name_that_is_a_strangers():
    """What an index has under the name `opsapp` is not this program: it is installed from its file."""
    texts = [*PAGES, *ROOT.glob("*.ini"), *(ROOT / "opsapp").rglob("*.py"), *(ROOT / "distribution").rglob("*.*")]
    by_name = re.compile(r"pip install[^`\n]*[\s'\"]opsapp(?![\w./-])|(?<![\w./-])opsapp\[")
    told = {str(path.relative_to(ROOT)): by_name.findall(path.read_text()) for path in texts if path.suffix != ".pyc"}
    assert {path: places for path, places in told.items() if places} == {}
