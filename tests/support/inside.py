"""A server with modules of the tests in it, by `pyramid.includes`."""

import os
import re
import time
from pathlib import Path

from pyramid.security import NO_PERMISSION_REQUIRED

from opsapp.runtime.threads.supervisor import Supervisor
from opsapp.tree.root import Api
from opsapp.web.answers import Deferred

from .process import Serve

GATE, PULSES = "OPSAPP_TEST_GATE", "OPSAPP_TEST_PULSES"


class Held(Serve):
    """Its /api/held is answered once the file `gate` is there, and its pulses are counted."""

    module = __name__

    def __init__(self, directory, **more):
        super().__init__(directory, **more)
        self.gate, self.pulses = self.directory / "gate", self.directory / "pulses"
        self.begun = self.directory / "gate.begun"  # once somebody waits at it
        text = self.ini.read_text().replace("%(here)s", str(self.ini.parent))
        self.ini = self.directory / "held.ini"
        self.ini.write_text(re.sub(r"^(\[app:main\])$", rf"\1\npyramid.includes = {self.module}", text, flags=re.M))

    def environment(self):
        return {**super().environment(), GATE: str(self.gate), PULSES: str(self.pulses)}

    def beats(self):
        """How many pulses its supervisor has had."""
        return self.pulses.stat().st_size


def includeme(config):
    config.add_view(held, context=Api, name="held", permission=NO_PERMISSION_REQUIRED)
    told = os.open(os.environ[PULSES], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    beat = Supervisor._beat

    def counted(supervisor):
        os.write(told, b".")
        beat(supervisor)

    Supervisor._beat = counted


def held(context, request):
    """A slow deferred answer, in a lane of its own."""
    node = request.node

    def wait():
        node.lane("held").run(wait_at_gate)
        return 200, {}, {"held": True}

    return Deferred(wait)


def wait_at_gate():
    Path(os.environ[GATE] + ".begun").touch()
    while not os.path.exists(os.environ[GATE]):
        time.sleep(0.02)
