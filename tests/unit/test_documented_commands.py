"""Every command of README and guide is made of words that the real parsers know. Which test runs it: test_docs.py."""

import argparse
import re
import shlex
import subprocess
import sys
from importlib import import_module

import pytest

from opsapp.agent.config import parser as agent_parser
from opsapp.cli.commands import MODULES, parser
from tests.support.documented_commands import Command, commands_of, documented, inline
from tests.support.documented_runs import ROWS, row_of

COMMANDS = documented()


def name(command):
    return f"{command.page}: {command.text[:60]}"


def words_of(text):
    """What the program is given: without comments, redirections, and brackets around what may be left out."""
    plain = re.sub(r"\bN\b", "1", re.sub(r"[\[\]…]", "", text.removeprefix("runuser -u opsapp -- ")))
    words = shlex.split(plain, comments=True)
    return words[1 : words.index(">") if ">" in words else len(words)]


def test_the_pages_have_commands():
    assert len(COMMANDS) > 80
    assert commands_of("a 'b\nc' \\\n d  # e\n\nfor n in 1; do\n  f\ndone\n# g\n") == [
        "a 'b\nc' \\\n d  # e", "for n in 1; do\n  f\ndone",
    ]  # fmt: skip


def test_every_row_has_a_command():
    used = {row_of(command) for command in COMMANDS}
    assert [row for row in ROWS if row not in used] == []


def of_opsapp():
    blocks = [each for each in COMMANDS if re.match(r"(runuser .* )?opsapp ", each.text)]
    return list(dict.fromkeys([*blocks, *inline("opsapp ")]))


@pytest.mark.parametrize("command", of_opsapp(), ids=name)
def test_the_command_knows_every_word_of_it(command, capsys):
    """What stands in a sentence may leave out what it acts on."""
    words = words_of(command.text)
    try:
        parser().parse_args(words)
    except SystemExit:
        said = capsys.readouterr().err
        assert command not in COMMANDS, said
        assert re.search("arguments are required|expected one argument", said), said


@pytest.mark.parametrize("command", [each for each in COMMANDS if "opsapp-agent.pyz --" in each.text], ids=name)
def test_the_agent_knows_every_option_of_it(command):
    asked = re.sub(r"[][]|\\\n", " ", command.text.partition("opsapp-agent.pyz ")[2].partition("2>")[0])
    agent_parser().parse_args(asked.split())


def test_a_command_that_nobody_runs_is_found():
    assert row_of(Command("docs/guide/running.md", "opsapp dance")) is None


@pytest.mark.parametrize(("module", "words"), MODULES.items(), ids=MODULES)
def test_a_command_is_found_in_the_module_that_the_table_names(module, words):
    """Else the command that is asked for would not be imported, and nobody would know it."""
    commands = argparse.ArgumentParser().add_subparsers()
    import_module(module).add_commands(commands)
    assert tuple(commands.choices) == words


def test_a_server_does_not_hold_what_other_commands_and_unread_pages_need():
    """A count of modules: each is memory for as long as the server runs."""
    asked = "import sys; from opsapp.cli import commands; commands.parser('serve'); import opsapp.ui.views"
    program = [sys.executable, "-c", f"{asked}; print(*sys.modules)"]
    held = subprocess.run(program, capture_output=True, text=True, check=True).stdout.split()
    others = MODULES.keys() - {"opsapp.cli.serve"}
    assert not (others | {"sqlite3", "ZEO.runzeo", "markdown_it"}).intersection(held)
