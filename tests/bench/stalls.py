"""Put into a server by `pyramid.includes`: notes how late its hub is, and answers /api/slow with a slow deferred one.

Every 5 ms a greenlet notes by how much it was woken late; once a second the samples go to the file $OPSAPP_STALLS.
"""

import os
import time

import gevent
from pyramid.events import ApplicationCreated
from pyramid.security import NO_PERMISSION_REQUIRED

from opsapp.tree.root import Api
from opsapp.web.answers import Deferred

PERIOD = 0.005
SLOW_S = 3.0


def includeme(config):
    config.add_view(slow, context=Api, name="slow", permission=NO_PERMISSION_REQUIRED)
    config.add_subscriber(begin, ApplicationCreated)


def begin(event):
    node = event.app.registry["opsapp.node"]
    node.engines.append(lambda node: gevent.spawn(sample, os.environ["OPSAPP_STALLS"]))


def sample(path):
    late, written = [], time.monotonic()
    with open(path, "a", buffering=1) as file:
        while True:
            asleep = time.monotonic()
            gevent.sleep(PERIOD)
            awake = time.monotonic()
            late.append((awake - asleep - PERIOD) * 1000)
            if awake - written > 1:
                file.write(" ".join(f"{each:.3f}" for each in late) + "\n")
                late, written = [], awake


def slow(context, request):
    node = request.node

    def wait():
        node.lane("slow").run(time.sleep, SLOW_S)
        return 200, {}, {"slept": SLOW_S}

    return Deferred(wait)
