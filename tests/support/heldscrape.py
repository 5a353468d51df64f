"""A server each of whose scrapes waits at a gate, by figures of a room of its own."""

import os

from pyramid.events import ApplicationCreated

from .inside import PULSES, Held, wait_at_gate


class HeldScrape(Held):
    """Its pulses are the texts of /metrics that it has begun to make; `gate` lets them go."""

    module = __name__


def includeme(config):
    config.add_subscriber(add, ApplicationCreated)  # the directive comes with the application's own rooms, later


def add(event):
    event.app.registry.opsapp_metrics.append(waiting)


def waiting(node):
    told = os.open(os.environ[PULSES], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(told, b".")
    os.close(told)
    wait_at_gate()
    return ()
