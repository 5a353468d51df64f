"""Brings .venv up to date with the lock files; does nothing when it already is. Needs only Python.

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
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOCKS = {"run": ROOT / "requirements/lock.txt", "test": ROOT / "requirements/lock-test.txt"}
SEEK = """
import json, sys
from importlib import metadata
from pip._vendor.packaging.requirements import Requirement
missing = []
for number, text in enumerate(json.load(sys.stdin)):
    need = Requirement(text)
    try:
        there = metadata.version(need.name) in need.specifier
    except metadata.PackageNotFoundError:
        there = False
    if not there and (need.marker is None or need.marker.evaluate()):
        missing.append(number)
print(json.dumps(missing))
"""


def requirements(level):
    lists = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse((ROOT / "setup.py").read_text()).body
        if isinstance(node, ast.Assign) and node.targets[0].id in ("SERVER", "TEST")
    }
    return lists["SERVER"] + (lists["TEST"] if level == "test" else [])


def blocks_of(text):
    """The packages of a lock file, each with the lines of its hashes."""
    blocks = []
    for line in text.splitlines(keepends=True):
        if line[:1] not in ("#", " ", "\n"):
            blocks.append(line)
        elif line[:1] == " ":
            blocks[-1] += line
    return blocks


def locked(level):
    return [block for name, lock in LOCKS.items() if name in ("run", level) for block in blocks_of(lock.read_text())]


def make_venv():
    if (VENV / "bin/python").exists():
        return
    print("making .venv", flush=True)
    if subprocess.run([sys.executable, "-m", "venv", str(VENV)]).returncode:
        sys.exit("could not make .venv: on Debian and Ubuntu the package python3-venv is needed")


def pip(*words):
    command = [
        str(VENV / "bin/python"),
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        "--no-input",
        "--no-deps",
        *words,
    ]
    if subprocess.run(command, env={**os.environ, "PIP_ROOT_USER_ACTION": "ignore"}).returncode:
        sys.exit("the installation failed; the lines above say why")


def install_locked(level):
    """What is not there in the version that is locked, from files whose hashes are: nothing else is taken."""
    blocks = locked(level)
    texts = [block.partition("\\")[0].strip() for block in blocks]
    seek = subprocess.run(
        [str(VENV / "bin/python"), "-c", SEEK], input=json.dumps(texts), stdout=subprocess.PIPE, text=True, check=True
    )
    missing = [blocks[number] for number in json.loads(seek.stdout)]
    if missing:
        with tempfile.TemporaryDirectory() as place:
            wanted = pathlib.Path(place) / "wanted.txt"
            wanted.write_text("".join(missing))
            pip("--require-hashes", "-r", str(wanted))


def install(level):
    if VENV.is_symlink():
        install_locked(level)
        subprocess.run([str(VENV / "bin/python"), "setup.py", "-q", "egg_info"], cwd=ROOT, check=True)
        return
    print(f"installing opsapp into .venv for `make {level}`; a minute or two, once", flush=True)
    install_locked(level)
    pip("--no-build-isolation", *(["-e"] if level == "test" else []), str(ROOT))


def main(level):
    if sys.version_info < (3, 10):
        sys.exit(f"opsapp needs Python 3.10 or newer, this is {sys.version.split()[0]}: make PYTHON=python3.11 …")
    make_venv()
    told = [sys.version, str(ROOT), *requirements(level), *locked(level), (ROOT / "setup.py").read_text()]
    now = hashlib.sha256("\n".join(told).encode()).hexdigest()
    stamp = VENV / f"opsapp-{level}.stamp"
    if stamp.exists() and stamp.read_text() == now:
        return
    install(level)
    stamp.write_text(now)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "run")
