"""An incident taken over by a link in a message: `notify.interfaces.LinkedAct`. In its caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsapp.auth.resources import sight_for
from opsapp.monitoring.resources import incidents_of
from opsapp.notify.interfaces import AfterAbort, Answerer, LinkTerms
from opsapp.tree.root import Root

from .changes import acknowledge
from .reach import tags_of_incident


class TakenOver:
    noun, label, audit = "incident", "Acknowledge", "incident.acknowledge"

    def terms(self, root: Root, thing_id: str) -> LinkTerms | None:
        return None if _incident(root, thing_id) is None else LinkTerms()

    def refusal(self, root: Root, thing_id: str, by: Answerer) -> str | None:
        incident = _incident(root, thing_id)
        sight = sight_for(root, by.name)
        if sight is not None and not sight.may("act", tags_of_incident(incident)):
            return "Your team may not act here."
        if incident.acknowledged_by is not None:
            return f"{incident.acknowledged_by} has acknowledged it already."
        return None if incident.resolved is None else "This incident is over."

    def done(
        self, root: Root, thing_id: str, by: Answerer, now: float, after_abort: AfterAbort
    ) -> Mapping[str, object]:
        acknowledge(root, _incident(root, thing_id), by.name, "", now)
        return {"note": ""}


def _incident(root: Root, thing_id: str) -> Any:
    return incidents_of(root).find(thing_id)
