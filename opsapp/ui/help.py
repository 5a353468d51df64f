"""Which section of the guide says more about a page. A page below an address has what its nearest address above has."""

from __future__ import annotations

from .guidebook import PLACE

MOST_STEPS = 8  # of the address of a page
ABOUT = {
    "/": "pages#the-overview-incidents-and-approvals",
    "/agents": "pages#hosts",
    "/agents/add": "agents#installation-on-a-host",
    "/answer": "notifications#links-that-answer",
    "/approvals": "healing#approvals",
    "/audit": "users#the-audit-record",
    "/automations": "automations",
    "/automations/new": "automations#types",
    "/automations/runs": "automations#a-run",
    "/deleted": "pages#what-was-deleted-comes-back",
    "/deployments": "deployments",
    "/find": "pages#the-frame",
    "/first-steps": "pages#first-steps-accounts-and-the-service",
    "/healing": "healing",
    "/healing/cases": "healing#the-six-stages",
    "/healing/chaos": "healing#chaos",
    "/healing/dependencies": "healing#dependencies",
    "/healing/forecasts": "healing#forecasts",
    "/healing/inlets": "healing#events-from-alertmanager-grafana-and-others",
    "/healing/ledger": "healing#5-ledger",
    "/healing/letter": "healing#a-morning-letter",
    "/healing/replay": "healing#replay",
    "/healing/rules": "healing#a-rule",
    "/healing/suggestions": "healing#dependencies-that-opsapp-finds",
    "/healing/trust": "healing#levels",
    "/help": "pages",
    "/incidents": "monitoring#incidents",
    "/maintenance": "maintenance",
    "/moment": "pages#the-moment",
    "/monitors": "pages#monitors",
    "/monitors/new": "monitoring#types",
    "/notifications": "notifications",
    "/notifications/new": "notifications#channels",
    "/notifications/deliveries": "notifications#delivery",
    "/oncall": "oncall",
    "/provisioning": "scim",
    "/second-factor": "users#second-factor",
    "/secrets": "automations#secrets",
    "/settings": "users",
    "/settings/as-code": "as-code",
    "/settings/service": "running",
    "/statuspage": "status-page#how-it-looks",
    "/statuspage/own": "status-page#pages-of-their-own",
    "/teams": "teams",
    "/users": "users#users",
}


def upwards(path: str) -> list[str]:
    """The nearest first. Of an address with thousands of steps, only those that may be a page."""
    steps = path.rstrip("/").split("/", MOST_STEPS)[:MOST_STEPS]
    return ["/".join(steps[:length]) for length in range(len(steps), 1, -1)]


def help_for(path: str) -> str:
    section = next((ABOUT[address] for address in upwards(path) if address in ABOUT), ABOUT["/"] if path == "/" else "")
    return f"{PLACE}/{section}" if section else PLACE
