"""The shell commands of README and guide: every block of an example is one of them, or is said to be something else."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/guide").glob("*.md"))]
FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.S | re.M)
INDENTED = re.compile(r"(?:^|(?<=\n\n))((?:    [^\n]*\n(?:\n(?=    ))?)+)")
CONDITIONS = "conditions.md"  # its examples without a language are conditions
SHELL = ("", "sh", "bash", "console")
# What an example without a language is when it is no command: ini files and units, ZConfig, JSON, YAML, HTTP.
OTHER = re.compile(r"[\[<{]|[\w.-]+:(?: |$)|[\w.-]+ = |(?:GET|POST|PUT|DELETE) ", re.M)
OPENERS, CLOSERS = ("for", "if", "while"), ("done", "fi")


class Command(NamedTuple):
    page: str
    text: str


def blocks(page):
    """Texts of the examples that may be commands."""
    text = page.read_text()
    fenced = [body for language, body in FENCED.findall(text) if language in SHELL]
    indented = INDENTED.findall(FENCED.sub("", text))
    return [*fenced, *("".join(line[4:] for line in body.splitlines(keepends=True)) for body in indented)]


def inline(begin):
    """The code within sentences that begins so."""
    spans = [
        (page, span) for page in PAGES for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", FENCED.sub("", page.read_text()))
    ]
    return [
        Command(str(page.relative_to(ROOT)), " ".join(span.split())) for page, span in spans if span.startswith(begin)
    ]


def is_shell(block):
    return not OTHER.match(block)


def commands_of(block):
    """Its commands: a quotation, a loop and a line that ends in a backslash go on."""
    commands, begun = [], ""
    for line in block.splitlines():
        begun += line + "\n"
        if not is_open(begun):
            commands.append(begun.strip())
            begun = ""
    assert not begun.strip(), f"it never ends: {begun}"
    return [text for text in commands if text and not text.startswith("#")]


def is_open(text):
    if text.endswith("\\\n"):
        return True
    try:
        shlex.split(text, comments=True)
    except ValueError:  # within a quotation
        return True
    firsts = [line.split()[0] for line in text.splitlines() if line.strip()]
    return sum(word in OPENERS for word in firsts) > sum(word in CLOSERS for word in firsts)


def commands_on(page):
    """Every command of a page, in its order; one that stands there twice is there twice."""
    return [text for block in blocks(page) if is_shell(block) for text in commands_of(block)]


def documented():
    """Every command once for each page."""
    pages = [page for page in PAGES if page.name != CONDITIONS]
    return list(
        dict.fromkeys(Command(str(page.relative_to(ROOT)), text) for page in pages for text in commands_on(page))
    )
