"""`opsapp` of another version: another number, and evolve steps that this one does not have.

`python -m tests.support.nextversion serve …` is the command; what it differs in is in the environment.
"""

import contextlib
import json
import os
import sys

import pytest
from persistent.mapping import PersistentMapping

from opsapp import app, cli
from opsapp.runtime.cluster import nodes
from opsapp.runtime.store import upgrades
from opsapp.tree import evolve

from .process import Serve

ABOUT = "OPSAPP_TEST_VERSION"


class NextVersion(Serve):
    """A server of version 0.9.0 with the given steps: {name: whether it is reversible}."""

    def __init__(self, directory, steps, version="0.9.0", **more):
        super().__init__(directory, **more)
        self.about = {"version": version, "steps": steps}

    def command(self):
        return [sys.executable, "-m", "tests.support.nextversion", *super().command()[3:]]

    def environment(self):
        return {**super().environment(), ABOUT: json.dumps(self.about)}


@contextlib.contextmanager
def later(steps, version="0.9.0"):
    """In this process: commands are of that version meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ABOUT, json.dumps({"version": version, "steps": steps}))
        patch.setattr(app, "INCLUDES", (*app.INCLUDES, __name__))
        for module in (evolve, nodes, upgrades):
            patch.setattr(module, "VERSION", version)
        yield


def mark(name):
    """What a step leaves in the store; one that is called `fails…` does not come so far."""

    def run(root):
        if name.startswith("fails"):
            raise ValueError(f"the step {name} fails")
        root.system.setdefault("tests", PersistentMapping())[name] = True

    return run


def includeme(config):
    for name, reversible in json.loads(os.environ[ABOUT])["steps"].items():
        config.add_evolve_step(name, mark(name), reversible=reversible)


def main():
    about = json.loads(os.environ[ABOUT])
    with later(about["steps"], about["version"]):
        return cli.main()


if __name__ == "__main__":
    sys.exit(main())
