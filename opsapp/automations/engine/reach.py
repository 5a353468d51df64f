"""What a limited person (in a team) sees of automations and runs, and may start. An automation is seen by who sees
every host that it runs on, and a run by who sees every host that it ran on: what is written there is one text. What
runs on the service's own machine, calls an address or sends a message is about no host: no team sees it.

Must not: know who is in a team.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from opsapp.agents import engine as agents
from opsapp.automations.logic.params import Params, Targeted
from opsapp.automations.records import AutomationRecord, RunRecord, RunRow
from opsapp.automations.resources import Automation, Run, automations_of, runs_of
from opsapp.runtime.events import Event
from opsapp.runtime.node import Node
from opsapp.tree.reading import is_sound
from opsapp.tree.rights import Sight, TagsOfMany
from opsapp.tree.root import Root, root_above

LOOKED_AT = 2000  # runs that are looked into for a list, at most
MOST = 2 * LOOKED_AT  # with those that they are made of
Parts = tuple[Collection[str], ...]
NOBODYS: Parts = ((),)
RunOrRow = TypeVar("RunOrRow", bound=RunRow)


class HostTags:
    """The tags of what automations and runs are about, each looked up once. For one request."""

    def __init__(self, root: Root):
        self._root = root
        self._of_automations: dict[str, Parts] = {}
        self._of_runs: dict[str, Parts] = {}

    @cached_property
    def _by_id(self) -> dict[str, agents.HostFacts]:
        return {host.agent_id: host for host in agents.hosts(self._root)}

    @cached_property
    def _by_name(self) -> dict[str, list[agents.HostFacts]]:
        named: dict[str, list[agents.HostFacts]] = defaultdict(list)
        for host in self._by_id.values():
            for name in {host.hostname, host.label}:
                named[name].append(host)
        return named

    def of_automation(self, automation_id: str) -> Parts:
        """Of every host that it runs on, with all that it is made of. A tag stands for what will have it, too."""
        if automation_id not in self._of_automations:
            self._of_automations[automation_id] = NOBODYS  # an automation is no part of itself
            automation = automations_of(self._root).find(automation_id)
            if automation is not None:
                self._of_automations[automation_id] = self.of_params(automation.params)
        return self._of_automations[automation_id]

    def of_params(self, params: Params) -> Parts:
        if params.children:
            return tuple(tags for child in params.children for tags in self.of_automation(child))
        if not isinstance(params, Targeted) or params.place != "agents":
            return NOBODYS
        if params.agent_id:
            return self.of_hosts([params.agent_id])
        if params.tag:
            return ((params.tag,),)
        named = self._by_name.get(params.hostname or "", [])
        is_one = len(named) == 1 and not (named[0].ambiguous and named[0].hostname == params.hostname)
        return (named[0].tags,) if is_one else NOBODYS

    def of_hosts(self, ids: Iterable[str]) -> Parts:
        known = (self._by_id.get(agent_id) for agent_id in ids)
        return tuple(() if host is None else host.tags for host in known) or NOBODYS

    def of_run(self, run: Run) -> Parts:
        """Of the hosts that it has been sent to; as long as there are none, of those that are meant."""
        if run.id not in self._of_runs:
            self._of_runs[run.id] = NOBODYS
            runs = runs_of(self._root)
            is_known = is_sound(runs, "definition of run", run.id, run.definition)
            if is_known and len(self._of_runs) <= MOST and run.place != "here":
                self._of_runs[run.id] = self._hosts_of(run)
        return self._of_runs[run.id]

    def _hosts_of(self, run: Run) -> Parts:
        if run.commands:
            return self.of_hosts(agent_id for agent_id, *_ in run.commands)
        if run.place == "agents" and run.hosts is not None:
            return self.of_hosts(agent_id for agent_id, _ in run.hosts.get(run.automation_id, ()))
        parts = (runs_of(self._root).find(run_id) if run_id else None for _, run_id, _ in run.parts)
        begun = tuple(tags for part in parts for tags in (NOBODYS if part is None else self.of_run(part)))
        return (*self.of_params(run.params), *begun)


class SeenRuns:
    """What one limited person sees of automations and runs. For one request."""

    def __init__(self, root: Root, sight: Sight):
        self._root, self._sight, self._tags = root, sight, HostTags(root)

    def has_automation(self, automation: Automation) -> bool:
        return self._sees(self._tags.of_automation(automation.id))

    def has(self, run: Run) -> bool:
        return self._sees(self._tags.of_run(run))

    def _sees(self, parts: Parts) -> bool:
        return self._sight.sees(TagsOfMany(parts, whole=True))

    def has_id(self, run_id: str | None) -> bool:
        run = runs_of(self._root).find(run_id) if run_id else None
        return run is not None and self.has(run)


def narrowed(row: RunOrRow) -> RunOrRow:
    """Without the id of what it was started from, which may be anything."""
    return replace(row, origin=_origin_without_id(row.origin))


def narrowed_event(told: Event) -> Event:
    return told._replace(data={**told.data, "origin": _origin_without_id(told.data.get("origin", ""))})


def _origin_without_id(origin: str) -> str:
    return origin.partition(":")[0].partition(" ")[0]


def narrowed_record(record: RunRecord, seen: SeenRuns) -> RunRecord:
    return replace(narrowed(record), parent=record.parent if seen.has_id(record.parent) else None)


def narrowed_automation(record: AutomationRecord, seen: SeenRuns) -> AutomationRecord:
    return replace(record, running=record.running if seen.has_id(record.running) else None)


def tags_of_automation(automation: Automation) -> TagsOfMany:
    return TagsOfMany(HostTags(root_above(automation)).of_automation(automation.id), whole=True)


def tags_of_run(run: Run) -> TagsOfMany:
    return TagsOfMany(HostTags(root_above(run)).of_run(run), whole=True)


def tags_of_event(node: Node, event: Event) -> TagsOfMany:
    """From memory: of the hosts that the event names."""
    return TagsOfMany(tuple(agents.agent_tags(node, agent_id) for agent_id in event.data.get("agents", ())), whole=True)
