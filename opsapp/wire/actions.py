"""The action table: the 55 heal actions as data, read by the server's planning and dry run and by the agent's executor.

Lives here: name, risk, typed parameters, snapshot, rollback, timeout, settle of each action. ways.py has the handlers.
Must not: run anything.

`where` says who performs an action: "host" (an agent) or "server" (the service itself). An action with `armed_s` can
cut its host off: the agent undoes it by itself that long after it was done, unless the server has confirmed it.
"""

from __future__ import annotations

import ipaddress
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from .fields import (
    FieldProblem,
    WireError,
    WireField,
    choice,
    integer,
    json_object,
    listing,
    may,
    need,
    nested,
    number,
    record,
    text,
)
from .urls import web_problem
from .ways import WAYS, Handler

LOW, MEDIUM, HIGH = "low", "medium", "high"
RISKS = (LOW, MEDIUM, HIGH)

_NAME = text(255, low=1, pattern=r"[A-Za-z0-9_.@:/][A-Za-z0-9_.@:/-]*")
_SERVICE = text(255, low=1, pattern=r"[A-Za-z0-9_@.:\\][A-Za-z0-9_@.:\\-]*")
_CONTAINER = text(128, low=1, pattern=r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_NIC = text(15, low=1, pattern=r"[A-Za-z0-9_.@:][A-Za-z0-9_.@:-]*")
_PATH = text(4096, low=1, pattern=r"/[^\0]*")
_SIZE = text(16, low=1, pattern=r"[0-9]+(\.[0-9]+)?[bkmgtBKMGT]?")
_HOST = text(253, low=1, pattern=r"[A-Za-z0-9_\[:][A-Za-z0-9_.:\]-]*")
_URL = text(2048, low=8, pattern=r"https?://[^\s]+", also=web_problem)
_COMMAND = text(65536, low=1)
_FIREWALL_RULE = nested(
    {
        "direction": need(choice("in", "out")),
        "action": need(choice("drop", "reject", "accept")),
        "protocol": may(choice("tcp", "udp", "icmp", "any"), "any"),
        "port": may(integer(1, 65535)),
        "source": may(text(64, low=2, pattern=r"[0-9a-fA-F.:/]+")),
        "destination": may(text(64, low=2, pattern=r"[0-9a-fA-F.:/]+")),
    },
    unknown="refuse",
)


class Action(NamedTuple):
    name: str
    risk: str
    params: Dict[str, WireField]
    target_param: Optional[str] = None  # filled from the event's target when it is left out
    snapshot: Optional[str] = None  # which state the agent records before it acts: "unit", "container", ...
    rollback: Optional[str] = None  # how that state is brought back; None: cannot be reversed
    timeout: int = 60
    settle: float = 5.0
    least_settle: float = 0.0  # a rule may not wait for less: the action answers before its effect is there
    where: str = "host"
    shell: bool = False  # its purpose is a shell: the only actions whose text one may read
    armed_s: Optional[float] = None  # it can cut the host off: undone after this long unless confirmed
    either: Tuple[str, ...] = ()  # each may be left out, but one of them is due
    handlers: Tuple[Handler, ...] = ()  # of ways.py

    @property
    def reversible(self) -> bool:
        return self.rollback is not None

    @property
    def implemented(self) -> bool:
        return bool(self.handlers) or self.where == "server"

    def check(self, params: Any) -> dict:
        """Validated parameters, defaults filled in; WireError names every wrong one."""
        clean = record(params, self.params, unknown="refuse", what=f"{self.name} parameters")
        wrong = {**self.undecided(clean), **self.contradictions(clean)}
        if wrong:
            told = ", ".join(dict.fromkeys(said for said in wrong.values()))
            raise WireError(f"{self.name}: {told}", "invalid", wrong)
        return clean

    def undecided(self, given: Dict[str, Any]) -> Dict[str, str]:
        """Parameters of which one is due, by name, where none is given: no target of an event stands for them."""
        if not self.either or any(given.get(name) is not None for name in self.either):
            return {}
        return {name: f"{' or '.join(self.either)} is required" for name in self.either}

    def contradictions(self, given: Dict[str, Any]) -> Dict[str, str]:
        """What no single parameter shows, by parameter. Each is right by itself; any may be missing."""
        wrong = {}
        if given.get("pid") is not None and given.get("top") is not None:
            wrong.update(dict.fromkeys(("pid", "top"), "give either pid or top"))
        if given.get("rule") is not None and _rule_problem(given["rule"]):
            wrong["rule"] = _rule_problem(given["rule"])
        return wrong

    def complete(self, params: Dict[str, Any], target: Optional[str]) -> dict:
        """The parameters with a missing one taken from the event's target. One that may be left out is left out where
        the target is something else: an event about a service names no mount."""
        name = self.target_param
        if name and params.get(name) is None and target and (self.params[name].required or self._takes(name, target)):
            return {**params, name: target}
        return dict(params)

    def _takes(self, name: str, value: str) -> bool:
        try:
            self.params[name].check(value)
        except FieldProblem:
            return False
        return True

    def choose(
        self, usable: Callable[[str], bool], fits: Callable[[Handler], bool] = lambda handler: True
    ) -> Optional[Handler]:
        """The first handler whose tools are all usable on the host, and which fits what is asked for."""
        for handler in self.handlers:
            if all(usable(tool) for tool in handler.tools) and fits(handler):
                return handler
        return None

    def tools(self) -> List[str]:
        """Every tool any handler needs, in the order they are looked for."""
        return list(dict.fromkeys(tool for handler in self.handlers for tool in handler.tools))

    def describe(self) -> dict:
        """Plain values for a listing."""
        return {
            "name": self.name,
            "risk": self.risk,
            "where": self.where,
            "reversible": self.reversible,
            "implemented": self.implemented,
            "timeout": self.timeout,
            "settle_s": self.settle,
            "params": {name: field.describe() for name, field in self.params.items()},
            "target_param": self.target_param,
            "either": list(self.either),
            "snapshot": self.snapshot,
            "armed_s": self.armed_s,
            "handlers": [
                {"tools": list(handler.tools), "steps": [list(step) for step in handler.steps], "when": handler.when}
                for handler in self.handlers
            ],
        }


def _rule_problem(rule: Dict[str, Any]) -> str:
    wrong = ""
    if rule["port"] is not None and rule["protocol"] not in ("tcp", "udp"):
        wrong = "a port needs the protocol tcp or udp"
    families = set()
    for name in ("source", "destination"):
        if rule[name] is not None:
            try:
                families.add(ipaddress.ip_network(rule[name], strict=False).version)
            except ValueError:
                wrong = f"{name} is no address or network"
    if len(families) == 2:
        wrong = "source and destination are of different families"
    return wrong


_service = {"service": need(_SERVICE)}
_container = {"container": need(_CONTAINER)}
_process = {"pid": may(integer(2, 2**31)), "top": may(choice("cpu", "memory"))}
_process_given = ("pid", "top")
_instance = {"instance_id": need(_NAME)}
_none: Dict[str, WireField] = {}


def _of_service(name: str, risk: str, **more: Any) -> Action:
    return Action(name, risk, _service, target_param="service", snapshot="unit", **more)


def _of_container(name: str, risk: str, **more: Any) -> Action:
    return Action(name, risk, _container, target_param="container", **{"snapshot": "container", **more})


_TABLE = (
    # ---- low: eligible for automatic execution
    _of_container("restart_container", LOW, timeout=90),
    _of_service("restart_service", LOW, timeout=90),
    _of_service("service_reload", LOW),
    _of_service("service_reset_failed", LOW, settle=2.0),
    _of_container("container_pause", LOW, rollback="container", settle=2.0),
    _of_container("container_image_pull", LOW, timeout=600),
    Action("process_kill", LOW, _process, snapshot="process", either=_process_given),
    Action(
        "nice_adjust",
        LOW,
        {**_process, "priority": may(integer(-20, 19), 10)},
        snapshot="process",
        rollback="process",
        settle=2.0,
        either=_process_given,
    ),
    Action("log_rotate", LOW, {"mount": may(_PATH)}, target_param="mount", snapshot="disk", timeout=300),
    Action(
        "temp_cleanup",
        LOW,
        {"path": may(_PATH), "max_age_hours": may(number(1, 8760), 24), "mount": may(_PATH)},
        target_param="mount",
        snapshot="disk",
        timeout=300,
    ),
    Action("clear_cache", LOW, _none, snapshot="memory", settle=2.0),
    Action("flush_dns", LOW, _none, snapshot="resolver", settle=2.0),
    Action("dns_cache_clear", LOW, _instance, target_param="instance_id", snapshot="resolver"),
    Action(
        "journal_vacuum",
        LOW,
        {"max_size": may(_SIZE, "200M"), "mount": may(_PATH)},
        target_param="mount",
        snapshot="disk",
        timeout=300,
    ),
    Action("package_cache_clean", LOW, _none, snapshot="disk", timeout=300),
    Action("disk_cleanup", LOW, {"mount": may(_PATH, "/")}, target_param="mount", snapshot="disk", timeout=300),
    Action(
        "webhook",
        LOW,
        {"url": need(_URL), "method": may(choice("GET", "POST", "PUT"), "POST"), "body": may(json_object())},
        where="server",
        timeout=30,
    ),
    Action("event_log_clear", LOW, {"log": may(_NAME, "Application")}, snapshot="host"),
    Action("sfc_scan", LOW, _none, snapshot="host", timeout=3600),
    Action("windows_update_check", LOW, _none, snapshot="host", timeout=600),
    # ---- medium: automatic, and people are told
    _of_container("container_recreate", MEDIUM, timeout=300),
    _of_service("service_dependency_restart", MEDIUM, timeout=180),
    Action(
        "storage_cleanup",
        MEDIUM,
        {"targets": may(listing(_NAME, 32), []), "mount": may(_PATH)},
        target_param="mount",
        snapshot="disk",
        timeout=600,
    ),
    Action("cert_renew", MEDIUM, {"domain": need(_HOST)}, target_param="domain", snapshot="certificate", timeout=600),
    Action(
        "vpn_reconnect",
        MEDIUM,
        {"interface": need(_NIC)},
        target_param="interface",
        snapshot="tunnel",
        rollback="tunnel",
        timeout=90,
        armed_s=180,
    ),
    Action("zfs_scrub", MEDIUM, {"pool": need(_NAME)}, target_param="pool", snapshot="host"),
    Action("btrfs_scrub", MEDIUM, {"mount": need(_PATH)}, target_param="mount", snapshot="disk"),
    Action(
        "backup_verify", MEDIUM, {"backup_set": need(_NAME)}, target_param="backup_set", snapshot="backup", timeout=3600
    ),
    Action("media_queue_cleanup", MEDIUM, _instance, target_param="instance_id", snapshot="host"),
    Action("media_library_scan", MEDIUM, _instance, target_param="instance_id", snapshot="host"),
    Action(
        "network_interface_restart",
        MEDIUM,
        {"nic": need(_NIC)},
        target_param="nic",
        snapshot="link",
        rollback="link",
        timeout=60,
        armed_s=180,
    ),
    Action(
        "compose_restart", MEDIUM, {"project": need(_NAME)}, target_param="project", snapshot="project", timeout=300
    ),
    Action("memory_pressure_relief", MEDIUM, _none, snapshot="memory", settle=2.0),
    Action(
        "scale_container",
        MEDIUM,
        {**_container, "cpu_limit": may(number(0.01, 1024)), "mem_limit": may(_SIZE)},
        target_param="container",
        snapshot="limits",
        rollback="limits",
        settle=2.0,
        either=("cpu_limit", "mem_limit"),
    ),
    Action("trigger_backup", MEDIUM, {"source": need(_NAME)}, target_param="source", snapshot="backup", timeout=3600),
    Action("automation", MEDIUM, {"automation_id": need(_NAME)}, where="server", timeout=3600),
    Action(
        "agent_command",
        MEDIUM,
        {"hostname": may(_HOST), "command": need(_COMMAND)},
        target_param="hostname",
        snapshot="host",
        shell=True,
    ),
    Action("chkdsk", MEDIUM, {"drive": may(text(2, low=2, pattern="[A-Za-z]:"), "C:")}, snapshot="host", timeout=3600),
    Action("fsck_schedule", MEDIUM, _none, snapshot="fsck", rollback="fsck"),
    Action("scheduled_task_repair", MEDIUM, {"task": need(_NAME)}, target_param="task", snapshot="timer"),
    Action("iis_app_pool_recycle", MEDIUM, {"pool": need(_NAME)}, target_param="pool", snapshot="host"),
    Action("wsl_restart", MEDIUM, _none, snapshot="host"),
    # ---- high: always with an approval
    Action("host_reboot", HIGH, _none, snapshot="host", timeout=60, settle=180.0, least_settle=180.0),
    Action(
        "vm_restart",
        HIGH,
        {"vm_id": need(_NAME), "platform": may(choice("libvirt", "proxmox"))},
        target_param="vm_id",
        snapshot="vm",
        timeout=300,
    ),
    Action(
        "vm_migrate",
        HIGH,
        {"vm_id": need(_NAME), "target_node": need(_HOST)},
        target_param="vm_id",
        snapshot="vm",
        timeout=3600,
    ),
    Action("package_security_patch", HIGH, _none, snapshot="packages", timeout=3600),
    Action(
        "snapshot_rollback",
        HIGH,
        {"target": need(_NAME), "snapshot": need(_NAME)},
        target_param="target",
        snapshot="host",
        timeout=1800,
    ),
    Action(
        "firewall_rule_add",
        HIGH,
        {"rule": need(_FIREWALL_RULE)},
        snapshot="firewall",
        rollback="firewall",
        settle=2.0,
        armed_s=180,
    ),
    Action(
        "raid_rebuild",
        HIGH,
        {"array": need(_PATH), "disk": need(_PATH)},
        target_param="array",
        snapshot="host",
        timeout=600,
    ),
    Action("run_playbook", HIGH, {"playbook_id": need(_NAME)}, where="server", timeout=3600),
    Action("run", HIGH, {"command": need(_COMMAND)}, snapshot="host", shell=True, timeout=300),
    Action(
        "failover_dns",
        HIGH,
        {"primary": need(_HOST), "secondary": need(_HOST)},
        target_param="primary",
        snapshot="resolver",
        rollback="resolver",
        settle=2.0,
        armed_s=180,
    ),
    Action("driver_rollback", HIGH, {"device": need(_NAME)}, target_param="device", snapshot="host"),
    Action("group_policy_refresh", HIGH, _none, snapshot="host"),
    Action("ad_replication_force", HIGH, _none, snapshot="host"),
)

ACTIONS: Dict[str, Action] = {row.name: row._replace(handlers=WAYS.get(row.name, ())) for row in _TABLE}
