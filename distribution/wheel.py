"""The wheel. Must not: reach the network."""

import os
import subprocess
import sys

from . import source


def build(work, out):
    """`opsapp-VERSION-py3-none-any.whl` in `out`, made from a copy in `work`."""
    copy = source.copy_of(work / "source")
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    environ = {**os.environ, "SOURCE_DATE_EPOCH": str(source.epoch()), "PYTHONHASHSEED": "0"}
    subprocess.run([*pip, "-w", work / "wheel", copy], check=True, env=environ, umask=0o022)
    (made,) = (work / "wheel").glob("opsapp-*.whl")
    return made.rename(out / made.name)
