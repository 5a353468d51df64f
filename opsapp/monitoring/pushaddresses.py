"""The addresses below /api/monitoring/push that are called. Nothing of them is stored here.

Must not: say what a call means; the view hands it on.
"""

from __future__ import annotations

from typing import Any

from opsapp.monitoring.resources import Monitoring
from opsapp.tree.folder import Facet, NamedFacets, add_facet
from opsapp.tree.root import root_above


class PushAddress(Facet):
    """/api/monitoring/push/{token}. A wrong token is an address too: nobody else lives there."""

    url = "/api/monitoring/push/{token}"

    def __init__(self, parent: Any, name: str):
        super().__init__(parent, name)
        self.monitor_id: str | None = root_above(self).system["push_addresses"].get(name)

    def __getitem__(self, name: str) -> PushSignal:
        return PushSignal(self, name)


class PushAddresses(NamedFacets):
    """/api/monitoring/push"""

    of = PushAddress


class PushSignal(Facet):
    """/api/monitoring/push/{token}/{signal}: `start`, `fail`, or how the run ended, 0 to 255."""

    url = "/api/monitoring/push/{token}/{signal}"


add_facet(Monitoring, "push", PushAddresses)
