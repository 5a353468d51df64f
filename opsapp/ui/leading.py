"""Which page of `plan` a kind of message leads to. Must not: guess where this service is reached: that is
`web.base_url`, or nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from opsapp.runtime.node import Node
from opsapp.web.config import WebSettings

from .builder import filled
from .plan import PAGES

DECLARED = {page.path: page for page in PAGES}


class Lead(NamedTuple):
    """Messages whose kind begins so lead to the first of these pages whose address can be filled in: (the page as
    declared, the message's id for each name in its address)."""

    kind: str
    pages: tuple[tuple[str, dict[str, str]], ...]


CASE = ("/healing/cases/{case_id}", {"case_id": "case"})
RULE = ("/healing/rules/{rule_id}", {"rule_id": "rule"})
HEALING = ("/healing", dict[str, str]())
APPROVAL = ("/approvals/{request_id}", {"request_id": "approval"})
AUTOMATION = ("/automations/{id}", {"id": "automation"})
RUN = ("/automations/runs/{run_id}", {"run_id": "run"})
SERVICE = ("/settings/service", dict[str, str]())
LEADS = (
    Lead("incident.", (("/incidents/{id}", {"id": "incident"}), ("/incidents", {}))),
    Lead("agent.deleted", (("/agents", {}),)),
    Lead("agent.", (("/agents/{id}", {"id": "agent"}), ("/agents", {}))),
    Lead("approval.", (APPROVAL, ("/approvals", {}))),
    Lead("heal.approval", (APPROVAL, CASE, HEALING)),
    Lead("heal.problem", (("/healing/problems/{id}", {"id": "problem"}), ("/healing/problems", {}))),
    Lead("heal.dependency", (("/healing/dependencies", {}),)),
    Lead("heal.brake", (HEALING,)),
    Lead("heal.letter", (("/healing/letter", {}),)),
    Lead("heal.", (CASE, RULE, HEALING)),
    Lead("inlet.", (("/healing/inlets/{inlet_id}", {"inlet_id": "inlet"}), ("/healing/inlets", {}))),
    Lead("run.", (RUN, AUTOMATION)),
    Lead("automation.", (RUN, AUTOMATION)),
    Lead("clock.", (SERVICE,)),
    Lead("damage.", (SERVICE,)),
    Lead("test", (("/notifications/channels/{id}", {"id": "channel"}),)),
    Lead("", (("/", {}),)),
)


def path_of(kind: str, ids: Mapping[str, str]) -> str:
    leads = (lead for lead in LEADS if kind.startswith(lead.kind))
    pages = ((DECLARED[page].path, names) for lead in leads for page, names in lead.pages)
    paths = (filled(page, {name: ids.get(noun) for name, noun in names.items()}) for page, names in pages)
    return next(path for path in paths if path is not None)


class PageAddresses:
    """`notify.interfaces.IPageAddresses`"""

    def __init__(self, registry: Any):
        self._registry = registry

    def __call__(self, kind: str, ids: Mapping[str, str]) -> str | None:
        return self._full(path_of(kind, ids))

    def answering(self, token: str) -> str | None:
        return self._full(f"/answer/{token}")

    def _full(self, path: str) -> str | None:
        node: Node = self._registry["opsapp.node"]
        base = node.config[WebSettings].base_url
        return base.rstrip("/") + path if base else None
