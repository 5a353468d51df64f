"""docs/security.md names tests: each of them must be there."""

import ast
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", (ROOT / "docs/security.md").read_text())))


def test_the_page_names_tests():
    assert len(NAMED) > 50


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_the_test_is_there(path, name):
    tree = ast.parse((ROOT / path).read_text())
    assert not name or name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
