"""Writes lock.txt and lock-test.txt again from setup.py: every package, version and file (by hash) that is installed.

usage: python3 requirements/lock.py [--upgrade]      (needs `uv` on the PATH; without --upgrade known versions stay)

Both hold for every Python from 3.10 and every platform. lock-test.txt has what the tests and the lint need besides.
"""

import pathlib
import subprocess
import sys
import tempfile
from venv import LOCKS, blocks_of, requirements  # the file beside this one

HEAD = "# Written by requirements/lock.py; installed by requirements/venv.py, with --require-hashes.\n"
COMPILE = ("uv", "pip", "compile", "-q", "--universal", "--python-version=3.10", "--generate-hashes", "--no-annotate",
           "--no-header")  # fmt: skip
BUILDS = "setuptools>=68"  # opsapp itself is built by what is in .venv


def compiled(level, known, more):
    """name==version, marker and hashes of everything that this level needs, by block."""
    with tempfile.TemporaryDirectory() as place:
        wanted, out = pathlib.Path(place) / "wanted.in", pathlib.Path(place) / "out.txt"
        wanted.write_text("\n".join([*requirements(level), BUILDS]) + "\n")
        out.write_text(known)
        subprocess.run([*COMPILE, *more, str(wanted), "-o", str(out)], check=True)
        return blocks_of(out.read_text())


def main(words):
    known = "".join(lock.read_text() for lock in LOCKS.values() if lock.exists())
    everything = compiled("test", known, words)
    run = compiled("run", "".join(everything), [])
    LOCKS["run"].write_text(HEAD + "".join(run))
    LOCKS["test"].write_text(HEAD + "".join(block for block in everything if block not in run))


if __name__ == "__main__":
    main(sys.argv[1:])
