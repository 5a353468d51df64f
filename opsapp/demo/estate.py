"""What the demo makes in its service, through the API that everybody has; what it says of it at the terminal.

Must not: write into a store, or start anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from opsapp.cli.places import Mistaken
from opsapp.cli.remote import ask
from opsapp.lib.jsontypes import JsonObject

SITES = ("shop", "catalog", "payments")
RULES = {
    "demo-shop-stopped": "the shop is down: restart it",
    "demo-shop-slow": "the shop is slow: restart it, after a person has agreed",
    "demo-catalog-down": "the catalog is down: tell people",
    "demo-disk-full": "the disk fills: what would be done is recorded, and nothing is done",
}


class HasUrl(Protocol):
    @property
    def url(self) -> str: ...


def make(url: str, token: str, sites: Mapping[str, HasUrl], control_url: str) -> None:
    monitors = {}
    for name, site in sites.items():
        body = {"name": f"Demo {name}", "type": "http", "url": site.url, "interval": 5, "timeout": 4, "retries": 0}
        made = ask(url, token, "POST", "/api/monitoring/endpoints", {**body, "tags": ["demo", "public"]})
        monitors[name] = made["id"]
    edges = [{"target": f"Demo {name}", "type": "monitor"} for name in ("catalog", "payments")]
    shop = {"target": "Demo shop", "type": "monitor", "depends_on": ["Demo catalog", "Demo payments"]}
    ask(url, token, "PUT", "/api/healing/dependencies", {"dependencies": [*edges, shop]})
    groups = [{"name": "Shop", "monitors": list(monitors.values())}]
    ask(url, token, "PUT", "/api/status/settings", {"groups": groups})
    for rule in _rules(monitors, f"{control_url}/restart/shop"):
        ask(url, token, "POST", "/api/healing/rules", rule)
    for rule_id, level in (("demo-shop-slow", "approve"), ("demo-shop-stopped", "execute")):
        ask(url, token, "POST", f"/api/healing/trust/{rule_id}/promote", {"level": level})


def _rules(monitors: Mapping[str, str], restart_url: str) -> Iterator[JsonObject]:
    restart = {"type": "webhook", "params": {"url": restart_url}}
    quick = {"settle_s": 2, "verify_timeout_s": 60, "cooldown_s": 30, "holdout": {"share": 0}}
    conditions = {
        "demo-shop-stopped": 'monitor.status == "down"',
        "demo-shop-slow": "response_time_ms > 1500",
        "demo-catalog-down": 'monitor.status == "down"',
        "demo-disk-full": "disk./.percent > 80",
    }
    for rule_id, condition in conditions.items():
        watched = "catalog" if "catalog" in rule_id else "shop"
        of_agent = rule_id == "demo-disk-full"
        yield {
            "id": rule_id,
            "description": RULES[rule_id],
            "condition": condition,
            "severity": "warning" if of_agent or "slow" in rule_id else "critical",
            "action": {"type": "disk_cleanup"} if of_agent else restart,
            "targets": {"agents": ["tag:demo"]} if of_agent else {"agents": [], "monitors": [monitors[watched]]},
            "initial_level": "dry-run" if of_agent else "notify",
            **quick,
        }


def introduction(url: str, user: str, password: str) -> str:
    """`password`: as it is said at a terminal, or where it is."""
    return f"""
This is a demo of opsapp: three small web services, an agent on this machine, and four heal rules.
Nothing of it touches other data of yours, and no rule of it may change this machine.

    {url}/           sign in as {user}; the password is {password}
    {url}/status     what the public would see

The shop fails now and then. In 20 seconds it stops for the first time, and you can watch the
overview: the alert, the restart, the check that proves it, the entry in the ledger.
A real rule earns its level; an admin (the demo) has put these where they are:

    demo-shop-stopped   execute   restarts the shop by itself
    demo-shop-slow      approve   asks you first
    demo-catalog-down   notify    only tells people
    demo-disk-full      dry-run   records what it would do

Ctrl-C ends the demo and deletes everything that it has made.
"""


class DemoStory:
    """What the ledger has to tell, a line for each new entry."""

    def __init__(self, url: str, token: str):
        self.url, self.token = url, token
        self._told: set[Any] = set()
        self._refused = False

    def step(self) -> Iterator[str]:
        try:
            entries = ask(self.url, self.token, "GET", "/api/healing/ledger?limit=20")
        except Mistaken as refusal:  # the visitor has ended this session, say: the demo goes on
            if not self._refused:
                yield f"The ledger is not shown here any more: {refusal}"
            self._refused = True
            return
        self._refused = False
        for entry in reversed(entries):
            key = entry["id"], entry["outcome"]
            if key not in self._told:
                self._told.add(key)
                outcome = entry["outcome"] or "under way"
                yield f"Ledger entry {entry['id']}: {entry['rule_id']} for {entry['target']}: {outcome}"
