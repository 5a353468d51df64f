"""The recipes of CONTRIBUTING are true: followed in a copy, each makes what it promises in at most three places.

There the tests hold that hold the tables of this house, so that no fourth place was forgotten.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]
# What was compiled goes with it and holds for what the recipes leave alone; `.pyc.` is what is just being compiled.
NOT_COPIED = shutil.ignore_patterns(".*", "*.pyc.*", "var", "dist", "build", "*.egg-info")
MOST_PLACES = 3
pytestmark = pytest.mark.no_cover  # what runs in the copy has other files
MADE = "tests/support/made_by_recipes.py"
HOLD = ("tests/api/test_example_config.py", "tests/unit/test_ui_plan.py", "tests/unit/test_guidebook.py")
HOLD_TOO = ("tests/api/test_roles.py", "tests/api/test_pages_roles.py", "tests/unit/test_docs.py")

# What is made -> {the place: (the line that is found there, what stands there afterwards)}; {} is that line
RECIPES = {
    "field": {
        "opsapp/monitoring/logic/settings.py": (
            '    quorum: Annotated[int, Between(1, 50), FormField("How many of them must see it", "number")] = 1\n',
            '{}    runbook: Annotated[str, Text(0, 500), FormField("Runbook", "text")] = ""\n',
        )
    },
    "channel": {
        "opsapp/notify/logic/addresses.py": (
            "TYPES = (\n",
            '{}    WritableType("rocket", "Rocket.Chat", "Into a room of Rocket.Chat.",\n'
            '                 (AddressField("host", "Server"), AddressField("room", "Room")),\n'
            "                 lambda given: \"rocket://user:password@\" + given['host'] + '/#' + given['room']),\n",
        )
    },
    "setting": {
        "opsapp/maintenance/config.py": (
            "    announce_days: Annotated[float, Between(0, 365)] = 30\n",
            "{}    longest_days: Annotated[float, Between(1, 365)] = 90\n",
        ),
        "opsapp.example.yaml": (
            "  announce_days: 30                 # how far ahead the status page tells of windows\n",
            "{}  longest_days: 90                  # what one window may last\n",
        ),
    },
    "page": {
        "opsapp/ui/plan/healing.py": (
            "HEALING = (\n",
            '{}    Page("/healing/effect", "Effect",\n'
            '         (Part("Effect", "/api/healing/actions", (Column("Action", "name"),)),), menu="Effect"),\n',
        ),
        "opsapp/ui/menu.py": ('"inlets", "letter", ', '{}"effect", '),
        "opsapp/ui/help.py": ("ABOUT = {\n", '{}    "/healing/effect": "actions",\n'),
    },
}


def follow(places, house):
    for place, (found, becomes) in places.items():
        text = (house / place).read_text()
        assert text.count(found) == 1, f"{place} has changed: say here, and in CONTRIBUTING, where this goes now"
        (house / place).write_text(text.replace(found, becomes.replace("{}", found)))


def run_in_copy(tmp_path, *files, workers=0):
    house = tmp_path / "house"
    shutil.copytree(HOME, house, symlinks=True, ignore=NOT_COPIED)
    for places in RECIPES.values():
        follow(places, house)
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(workers), "-p", "no:cacheprovider", *files]
    ended = subprocess.run(
        command, cwd=house, env=os.environ | {"PYTHONPATH": str(house)}, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout[-6000:] + ended.stderr[-2000:]


def test_each_recipe_makes_what_it_promises_in_at_most_three_places(tmp_path):
    assert max(map(len, RECIPES.values())) <= MOST_PLACES
    run_in_copy(tmp_path, MADE, *HOLD)


@pytest.mark.nightly("every page as every role takes two minutes; that the recipes work is in the core list")
@pytest.mark.parametrize("table", HOLD_TOO)
def test_no_table_of_roles_or_pages_asks_for_a_fourth_place(tmp_path, table):
    run_in_copy(tmp_path, table, workers=2)
