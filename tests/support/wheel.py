"""opsapp as people install it: the wheel, and what it needs besides, without a network."""

import subprocess
import sys
from importlib import metadata

from pip._vendor.packaging.requirements import Requirement

from .process import ROOT


def build(place):
    """The wheel, built in `place` from a copy, so that only what belongs to the project gets in."""
    copy = place / "source"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.split("\0")[:-1]:
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "-w", place / "out", copy], check=True)
    (made,) = (place / "out").glob("opsapp-*.whl")
    return made


def dependencies(wheel):
    """The distributions in this environment that the wheel needs, with all that they need themselves."""
    (own,) = metadata.distributions(name="opsapp", path=[str(wheel)])
    needed = {}
    open_ends = _wanted(own, set())
    while open_ends:
        requirement = open_ends.pop()
        found = metadata.distribution(requirement.name)
        if found.name not in needed:
            needed[found.name] = found
            open_ends += _wanted(found, requirement.extras)
    return list(needed.values())


def _wanted(distribution, extras):
    """What it requires on this machine, with these of its extras."""
    every = map(Requirement, distribution.requires or [])
    return [
        one
        for one in every
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in {"", *extras})
    ]
