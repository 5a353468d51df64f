"""Bodies and smaller answers of /api/monitoring; `queries` has what its lists are asked with. A monitor is declared in
`logic.settings` and `records`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from opsapp.lib.visible import name_kind
from opsapp.monitoring.logic.settings import Id
from opsapp.monitoring.logic.told import ToldTrouble
from opsapp.monitoring.records import INCIDENT_STAGES
from opsapp.monitoring.shownon import MOST_NAMED, PageName
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Choice, Text

Note = Annotated[str, Text(0, 5000)]


@frozen
class NewIncident:
    """One that a person opens: nothing measures it, so a person ends it."""

    component: ClassVar[str] = "Incident"

    name: Annotated[str, name_kind(example="The phones do not work")]
    target: Annotated[str, Text(0, 200)] = ""
    description: Note = ""
    severity: Literal["critical", "warning", "info"] = "critical"
    pages: Annotated[tuple[PageName, ...], MOST_NAMED] = ()

    def told_by(self, user: str) -> ToldTrouble:
        return ToldTrouble("", "", self.name, self.target, "", self.description, self.severity, (), user)


@frozen
class IncidentOpened:
    id: Id
    status: Literal["created"] = "created"


@frozen
class IncidentEnd:
    note: Note = ""


@frozen
class IncidentEnded:
    status: Literal["resolved"] = "resolved"


@frozen
class Acknowledgement:
    note: Note = ""


@frozen
class Acknowledged:
    status: Literal["acknowledged"] = "acknowledged"


@frozen
class IncidentOwner:
    username: Annotated[str, Text(1, 64)]
    note: Note = ""


@frozen
class IncidentAssigned:
    status: Literal["assigned"] = "assigned"


@frozen
class IncidentUpdate:
    stage: Annotated[str, Choice(*INCIDENT_STAGES)]
    message: Annotated[str, Text(1, 5000)]
    public: bool = True


@frozen
class UpdateAdded:
    status: Literal["created"] = "created"


@frozen
class PostMortem:
    name: str
    markdown: Annotated[str, Text(0, 10**7)]


@frozen
class PushTaken:
    status: Literal["ok"] = "ok"


@frozen
class NoticePut:
    id: str
    status: Literal["created"] = "created"


@frozen
class NoticeEnded:
    status: Literal["ended"] = "ended"
