"""The agent file: the same bytes from the same source, and nothing in it that a bare host misses or must not see."""

import ast
import io
import pathlib
import subprocess
import sys
import zipfile

import pytest

import opsapp
from opsapp.agents import zipapp

ROOT = pathlib.Path(opsapp.__file__).parent
CARRIED = {"wsproto", "h11", "opsapp"}


def names():
    return zipfile.ZipFile(io.BytesIO(zipapp.agent_file().data)).namelist()


def test_the_same_source_gives_the_same_bytes():
    assert zipapp.build() == zipapp.agent_file().data
    archive = zipfile.ZipFile(io.BytesIO(zipapp.agent_file().data))
    assert names() == sorted(names())
    assert {(one.date_time, one.compress_type, one.external_attr) for one in archive.infolist()} == {
        ((1980, 1, 1, 0, 0, 0), zipfile.ZIP_STORED, 0o100644 << 16)
    }


def test_it_carries_agent_and_wire_and_nothing_of_the_server():
    packages = {"/".join(name.split("/")[:2]) for name in names() if name.startswith("opsapp/")}
    assert packages == {"opsapp/__init__.py", "opsapp/agent", "opsapp/wire"}
    assert {name.split("/")[0] for name in names()} == {"__main__.py", "opsapp", "wsproto", "h11", "licences"}
    assert any(name.startswith("licences/h11") for name in names())
    assert any(name.startswith("licences/wsproto") for name in names())


def test_it_starts_without_what_it_needs_only_now_and_then(tmp_path):
    (tmp_path / "agent.pyz").write_bytes(zipapp.agent_file().data)
    code = "import sys; sys.path.insert(0, sys.argv[1]); import opsapp.agent.main; print(*sys.modules)"
    argv = [sys.executable, "-I", "-S", "-c", code, tmp_path / "agent.pyz"]
    loaded = set(subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split())
    assert "opsapp.agent.main" in loaded
    assert not loaded & {"ssl", "http.client", "urllib.request", "email", "tarfile"}


LOOK = """
import os, sys
path, url = sys.argv[1:]
sys.path.insert(0, path)
import opsapp.agent.main
from opsapp.agent.probing import probesunderway
os.unlink(path)
asked = dict(type="http", url=url, timeout=10, allow=["127.0.0.0/8"], deny=[])
outcome = probesunderway.look(probesunderway.target_of(asked), probesunderway.gate_of(asked), None)
print(outcome.detail)
"""


def test_a_running_agent_looks_at_pages_after_an_update_took_its_file(tmp_path):
    (tmp_path / "agent.pyz").write_bytes(zipapp.agent_file().data)
    argv = [sys.executable, "-I", "-S", "-c", LOOK, tmp_path / "agent.pyz", "ftp://127.0.0.1/"]
    detail = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()
    assert detail == "the redirect leads to an address that is not http or https"


@pytest.mark.parametrize(
    "path",
    sorted([*ROOT.glob("wire/**/*.py"), *ROOT.glob("agent/**/*.py")]),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_a_function_imports_nothing_from_the_agent_file(path):
    """An update moves or replaces the file under the agent that runs from it."""
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    for node in (inner for function in functions for inner in ast.walk(function)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            assert node.module.split(".")[0] not in CARRIED
        elif isinstance(node, ast.Import):
            assert not {alias.name.split(".")[0] for alias in node.names} & CARRIED


@pytest.mark.parametrize(
    "path",
    sorted([*ROOT.glob("wire/**/*.py"), *ROOT.glob("agent/**/*.py")]),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_agent_and_wire_import_only_what_a_bare_host_has(path):
    allowed = set(sys.stdlib_module_names) | ({"opsapp"} if path.parent.name == "wire" else CARRIED)
    for node in ast.walk(ast.parse(path.read_text())):
        found = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found = [node.module]
        for name in found:
            assert name.split(".")[0] in allowed, f"{path.name} imports {name}"
            if name.startswith("opsapp."):
                assert name.split(".")[1] in ("wire", "agent"), f"{path.name} imports {name}"
