"""The real application in this process, over a store in a temporary directory, and clients for the actors of the tests.

Actors: vera (viewer), otto (operator), ada (admin). No mocks, no DummyRequest: WebTest drives the WSGI app.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import transaction
from argon2 import PasswordHasher
from webtest import TestApp

from opsapp import app as opsapp_app
from opsapp.agents.engine import executor
from opsapp.auth import resources as auth
from opsapp.auth.cookies import SESSION
from opsapp.auth.engine import passwords
from opsapp.monitoring.engine import lateststatus
from opsapp.tree.root import root_of
from tests.support import readystore
from tests.support.clock import FakeClock
from tests.support.documented import DocumentedApp
from tests.support.starting import remember_what_is_the_same, remembering

# The real hash takes a tenth of a second on purpose; hundreds of tests make a store.
passwords.HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)

remember_what_is_the_same()

# What it takes to make the public status document is measured: on a machine under load a test's own would be dear at
# times, and would rest while the test's clock stands still.
lateststatus.DEAR_S = 60.0

# No test of this process cuts the machine's power, and a new store is some fifty commits.
sys.modules["ZODB.FileStorage.FileStorage"].fsync = None

ROLES = {"vera": "viewer", "otto": "operator", "ada": "admin"}
PASSWORD = "correct horse battery"


class Service:
    """An application without a hub: engines do not run by themselves, tests call their steps."""

    def __init__(self, directory: Any, clock: Any = None, **settings: Any):
        self.clock = clock or FakeClock()
        uris = {"zodbconn.uri": f"file://{directory}/main.fs", "zodbconn.uri.history": f"file://{directory}/history.fs"}
        with readystore.put_down(Path(directory), self.clock, settings):
            self.app = opsapp_app.main({}, **(uris | {"opsapp.clock": self.clock, "opsapp.node": "box"} | settings))
        self.node = self.app.registry["opsapp.node"]
        # As with executor.user in the configuration: operators may write what runs on the service's machine.
        self.app.registry[executor.WHOSE] = executor.ExecutorUser("opsapp-run", 12345, False)
        self.anonymous = DocumentedApp(self.app)
        self.tokens: dict[str, str] = {}
        self.closing: list[Callable[[], None]] = []  # what a test opened that has files of its own

    def transact(self, fn: Any, *values: Any) -> Any:
        return self.node.transact(fn, *values)

    def configure(self, section: type, **settings: Any) -> None:
        """As if the YAML file said this in the section."""
        self.node.config = self.node.config.having(replace(self.node.config[section], **settings))

    def client(self, who: str) -> TestApp:
        """A signed-in client for vera, otto or ada; users are put into the store without the cost of a hash."""
        if who not in self.tokens:
            self.tokens[who] = self.transact(_sign_in, who, self.clock.now())
        client = DocumentedApp(self.app)
        client.authorization = ("Bearer", self.tokens[who])
        return client

    def browser(self, who: str) -> TestApp:
        """A browser in which `who` is signed in."""
        browser = TestApp(self.app)
        browser.set_cookie(SESSION, self.transact(_sign_in, who, self.clock.now()))
        return browser

    @property
    def vera(self) -> TestApp:
        return self.client("vera")

    @property
    def otto(self) -> TestApp:
        return self.client("otto")

    @property
    def ada(self) -> TestApp:
        return self.client("ada")

    def read(self, fn: Any) -> Any:
        """`fn(root)` over an open connection, for looking at persistent objects."""
        manager = transaction.TransactionManager(explicit=True)
        connection = self.node.store.db.open(transaction_manager=manager)
        manager.begin()
        try:
            return fn(root_of(connection))
        finally:
            manager.abort()
            connection.close()

    def close(self) -> None:
        for close in self.closing:
            close()
        self.node.stop()


def make_ready() -> None:
    """Before the first test: what the starts of all applications have in common."""
    with remembering():
        readystore.make(Service)


def _sign_in(root: Any, who: str, now: float) -> str:
    users = auth.users_of(root)
    if who not in users:
        users[who] = auth.User(ROLES[who], "", int(now))
    return auth.open_session(root, who, now, "127.0.0.1", "tests")
