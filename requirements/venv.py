"""Brings .venv up to date with setup.py and lock.txt; does nothing when it already is. Needs only Python.

usage: python3 requirements/venv.py [run | test]      (test: with what the tests and the lint need)

A .venv that is a link is shared between checkouts: it gets what is missing, but never this checkout itself,
which the Makefile puts on PYTHONPATH instead.
"""
import ast
import hashlib
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOCK = ROOT / "requirements/lock.txt"
SEEK = """
import json, sys
from importlib import metadata
from pip._vendor.packaging.requirements import Requirement
missing = []
for text in json.load(sys.stdin):
    need = Requirement(text)
    try:
        if not need.specifier.contains(metadata.version(need.name), prereleases=True):
            missing.append(text)
    except metadata.PackageNotFoundError:
        missing.append(text)
print(json.dumps(missing))
"""


def requirements(level):
    lists = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse((ROOT / "setup.py").read_text()).body
        if isinstance(node, ast.Assign) and node.targets[0].id in ("SERVER", "TEST")
    }
    return lists["SERVER"] + (lists["TEST"] if level == "test" else [])


def make_venv():
    if (VENV / "bin/python").exists():
        return
    print("making .venv", flush=True)
    if subprocess.run([sys.executable, "-m", "venv", str(VENV)]).returncode:
        sys.exit("could not make .venv: on Debian and Ubuntu the package python3-venv is needed")


def pip(*words):
    command = [str(VENV / "bin/python"), "-m", "pip", "install", "-q", "--disable-pip-version-check",
               "--no-input", "-c", str(LOCK), *words]
    if subprocess.run(command, env={**os.environ, "PIP_ROOT_USER_ACTION": "ignore"}).returncode:
        sys.exit("the installation failed; the lines above say why")


def install(level):
    if not VENV.is_symlink():
        print(f"installing opsapp into .venv for `make {level}`; a minute or two, once", flush=True)
        pip("-e", f"{ROOT}[test]" if level == "test" else str(ROOT))
        return
    seek = subprocess.run([str(VENV / "bin/python"), "-c", SEEK], input=json.dumps(requirements(level)),
                          stdout=subprocess.PIPE, text=True, check=True)
    missing = json.loads(seek.stdout)
    if missing:
        pip(*missing)
    subprocess.run([str(VENV / "bin/python"), "setup.py", "-q", "egg_info"], cwd=ROOT, check=True)


def main(level):
    if sys.version_info < (3, 10):
        sys.exit(f"opsapp needs Python 3.10 or newer, this is {sys.version.split()[0]}: make PYTHON=python3.11 …")
    make_venv()
    told = [sys.version, str(ROOT), *requirements(level), LOCK.read_text(), (ROOT / "setup.py").read_text()]
    now = hashlib.sha256("\n".join(told).encode()).hexdigest()
    stamp = VENV / f"opsapp-{level}.stamp"
    if stamp.exists() and stamp.read_text() == now:
        return
    install(level)
    stamp.write_text(now)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "run")
