"""A stream of writes against a server that may die at any moment, and what of it has to be there afterwards."""

import http.client
import itertools
import threading

from .client import Refused
from .waiting import patience

GONE = (OSError, http.client.HTTPException)


class Writer(threading.Thread):
    """Creates agents one after another until it is told to end. `answered` has the id of each answered write. A refusal
    other than 503 ends it, and whoever asks it for anything then is told of it."""

    def __init__(self, client, name, pace=0.002):
        super().__init__(name=name, daemon=True)
        self.client, self.pace = client, pace
        self._answered, self._refused, self.broken = {}, 0, 0
        self.surprise = None
        self._over = threading.Event()
        self.start()

    def run(self):
        for number in itertools.count():
            if self._over.is_set():
                return
            label = f"{self.name}-{number}"
            try:
                self._answered[write(self.client, label)] = label
            except Refused as refused:
                if refused.answer.status != 503:
                    self.surprise = refused
                    return
                self._refused += 1
            except GONE:
                self.broken += 1
            except Exception as surprise:
                self.surprise = surprise
                return
            self._over.wait(self.pace)

    @property
    def answered(self):
        self._no_surprise()
        return self._answered

    @property
    def refused(self):
        self._no_surprise()
        return self._refused

    def _no_surprise(self):
        if self.surprise:
            raise self.surprise

    def end(self):
        self._over.set()
        self.join(30 * patience())
        if self.is_alive():
            raise AssertionError(f"{self.name} hangs in a request")
        self._no_surprise()


def write(client, label):
    """The id of a new agent."""
    return client.post("/api/agents", {"label": label}, expect=201)["agent_id"]


def stored(client):
    return {agent["id"]: agent["label"] for agent in client.get("/api/agents")}


def missing(client, writers):
    """The answered writes that the server does not have."""
    there = stored(client)
    return {key: label for writer in writers for key, label in writer.answered.items() if there.get(key) != label}
