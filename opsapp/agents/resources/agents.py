"""Who an agent is, what became of it, where its series are. Keys are here only as hashes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from persistent import Persistent

from opsapp.lib.jsontypes import JsonObject
from opsapp.tree.acl import Allow, Authenticated, Permission
from opsapp.tree.folder import Facet, Folder, Record

from .commands import Commands

KEPT_TERMS = 20


class AgentState(Persistent):
    """An agent's state, an object of its own, written when it changes and now and then."""

    silent_at: float | None = None  # when a session ended because nothing was heard any more
    stopped_at: float | None = None  # when it said that it was stopped; None once it is heard again
    silences: tuple[tuple[float, float], ...] = ()  # when it was not heard for so long that it may have healed alone

    def __init__(self, now: float):
        self.status = "pending"
        self.changed_at = now
        self.last_seen: float | None = None
        self.node = ""  # where it was last heard: "name:boot"
        self.session = ""  # the open session's id there; empty while it polls or is away
        self.session_number = 0  # grows with every session
        self.machine_id = ""  # of the latest session
        self.clone_at: float | None = None  # when another machine tried to use its key


class Manifest(Persistent):
    """The capabilities that an agent has probed."""

    def __init__(self, values: JsonObject, at: float):
        self.values = values
        self.at = at


class Policies(Persistent):
    """The bundle as `wire.policies` has it, unsigned."""

    given: tuple[tuple[int, int, float], ...] = ()

    def __init__(self, bundle: JsonObject, given: tuple[tuple[int, int, float], ...] = ()):
        self.bundle = bundle
        self.given = given[-KEPT_TERMS:]  # (version, budget, its window) of bundles from before

    def earlier(self) -> tuple[tuple[int, int, float], ...]:
        """Version, budget and window of the earlier bundles, with the present one as the last."""
        bundle = self.bundle
        return (*self.given, (bundle["version"], bundle["budget"], bundle["budget_window_s"]))


class StreamFacet(Facet):
    """/api/agents/{id}/stream"""

    url = "/api/agents/{agent_id}/stream"


class Agent(Record):
    url = "/api/agents/{agent_id}"
    facets: ClassVar[dict[str, type]] = {"stream": StreamFacet}
    loads_with = ("state",)
    policies: Policies | None = None

    def __init__(self, label: str, tags: Sequence[str], key_digest: str, now: float):
        self.label = label
        self.tags = tuple(tags)
        self.key_digest = key_digest
        self.created_at = now
        self.profile: JsonObject = {}
        self.ip = ""
        self.series: dict[str, int] = {}
        self.manifest: Manifest | None = None
        self.state = AgentState(now)
        self.commands = Commands()
        self.commands.__parent__ = self
        self.commands.__name__ = "commands"

    def __acl__(self) -> list[Any]:
        """Only the agent itself reports."""
        return [(Allow, f"agent:{self.__name__}", (Permission.report,))]

    def __getitem__(self, name: str) -> Any:
        return self.commands if name == "commands" else super().__getitem__(name)

    @property
    def id(self) -> str:
        return self.__name__

    @property
    def hostname(self) -> str:
        return self.profile.get("hostname", "")


class InstallScript(Facet):
    """The install script for every user, and for agents too, since a bare host has nobody who signs in."""

    url = "/api/agents/install-script"
    __acl__ = ((Allow, Authenticated, (Permission.view,)),)


class Agents(Folder):
    """/api/agents"""

    url = "/api/agents"
    holds = "agent"
    facets: ClassVar[dict[str, type]] = {"install-script": InstallScript}
