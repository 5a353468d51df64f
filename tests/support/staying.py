"""A node that never misses another one, and that stays when it is told to stop: until it is killed.

What it gave up by then it has handed over itself, and the others have taken it because they were told.
"""

import re

import gevent
from pyramid.events import ApplicationCreated

from opsapp.runtime.cluster import leases, nodes

from .process import Serve

HOUR_S = 3600.0


class StayingServe(Serve):
    """This module is put into it by `pyramid.includes`."""

    measured = False  # it never comes to the end of its stop

    def __init__(self, directory, **more):
        super().__init__(directory, **more)
        text = self.ini.read_text().replace("%(here)s", str(self.ini.parent))
        self.ini = self.directory / "staying.ini"
        self.ini.write_text(re.sub(r"^(\[app:main\])$", rf"\1\npyramid.includes = {__name__}", text, flags=re.M))


def includeme(config):
    leases.LEASE_S = nodes.QUIET_AFTER_S = nodes.DEAD_AFTER_S = HOUR_S
    config.add_subscriber(stay, ApplicationCreated)


def stay(event):
    event.app.registry["opsapp.node"].at_stop(lambda: None, lambda: gevent.sleep(HOUR_S))
