"""The hosts on which automations run: those that are meant now, and those that people have agreed to.

Must not: send anything.
"""

from __future__ import annotations

from typing import NamedTuple

from opsapp.agents import engine as agents
from opsapp.agents.engine import HostFacts
from opsapp.agents.resources import agents_of
from opsapp.automations.logic.params import Targeted
from opsapp.automations.resources import Run, with_parts
from opsapp.lib.problems import Conflict, NotFound
from opsapp.tree.root import Root


class RunTarget(NamedTuple):
    """A host as people were shown it."""

    agent_id: str
    host: str


Hosts = dict[str, tuple[tuple[str, str], ...]]  # as a run keeps them: of each automation, by its id, its targets


def hosts_of(root: Root, automation_id: str) -> Hosts:
    """Where an automation and all that it is made of would run now."""
    hosts: Hosts = {}
    for automation in with_parts(root, automation_id):
        params = automation.params
        if isinstance(params, Targeted) and params.place == "agents":
            try:
                hosts[automation.id] = tuple((host.agent_id, name_of(host)) for host in meant(root, params))
            except (NotFound, Conflict):
                hosts[automation.id] = ()
    return hosts


def plain(hosts: Hosts) -> list[dict[str, str]]:
    rows = [(automation_id, *target) for automation_id, targets in hosts.items() for target in targets]
    return [{"automation_id": whose, "agent_id": agent_id, "host": host} for whose, agent_id, host in sorted(rows)]


def of_run(root: Root, run: Run) -> list[RunTarget]:
    """The run's targets, or a problem that says why there are none. What people have agreed to is exactly the hosts
    that they were shown, whatever these are called or tagged by now."""
    if run.hosts is None:
        assert isinstance(run.params, Targeted)
        return [RunTarget(host.agent_id, name_of(host)) for host in meant(root, run.params)]
    approved = [RunTarget(*target) for target in run.hosts.get(run.automation_id, ())]
    if not approved:
        raise NotFound("There was no host for it when people were asked.")
    gone = [target.host for target in approved if target.agent_id not in agents_of(root)]
    if gone:
        raise NotFound(f"{gone[0]} was approved and is there no more.")
    return approved


def meant(root: Root, params: Targeted) -> list[HostFacts]:
    """The hosts that are meant, or a problem that says why there is none."""
    present = agents_of(root)
    known = [host for host in agents.hosts(root) if host.agent_id in present]  # one may have been deleted just now
    if params.agent_id:
        hosts = [host for host in known if host.agent_id == params.agent_id]
    elif params.tag:
        hosts = [host for host in known if params.tag in host.tags]
    else:
        hosts = [host for host in known if params.hostname in (host.hostname, host.label)]
        if len(hosts) > 1 or any(host.ambiguous and host.hostname == params.hostname for host in hosts):
            raise Conflict(f"Several agents are called {params.hostname}: use the id.", code="ambiguous_host")
    if not hosts:
        raise NotFound(f"There is no agent {params.agent_id or params.tag or params.hostname}.")
    return sorted(hosts, key=lambda host: (host.label, host.agent_id))


def name_of(host: HostFacts) -> str:
    return host.label or host.hostname
