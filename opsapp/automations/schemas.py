"""Queries and smaller answers of /api/automations; `records` and `logic.settings` declare the others."""

from __future__ import annotations

from opsapp.automations.logic.runs import STATUSES
from opsapp.web.declared import body_of
from opsapp.web.fields import Body, Paging, choice, list_of, map_of, order, scalar, text, whole, with_settings

from .records import AutomationRecord


class TemplateChange(body_of(AutomationRecord)):  # type: ignore[misc]
    """What an automation has otherwise than the template that it is made from."""


class AutomationList(Paging):
    q = text(0, 200, default=None)
    uses = text(1, 200, optional=True)  # the id of a host or an automation, or the name of a channel or an approver
    sort = order("name", "type", "last_run", "next_run")


class NewToken(Body):
    webhook_token = text()
    webhook_url = text()


@with_settings(NewToken)
class AutomationCreated(Body):
    """The token is shown this once."""

    id = text()
    status = choice("created")


class Imported(Body):
    imported = whole(0)
    ids = list_of(text(), 10_000)


# -- runs

RUN_INPUTS = map_of(scalar())


class RunFromIncident(Body):
    automation_id = text(1, 64)
    inputs = map_of(scalar(), default={})


class RunStarted(Body):
    run_id = text()
    status = choice(*STATUSES)
    request_id = text(optional=True)


class RunList(Paging):
    limit = whole(1, 1000, default=100)
    status = choice(*STATUSES, default=None)


class RunAfter(Body):
    """After a cancel the status may still be `running`, until whoever carries it out has stopped."""

    run_id = text()
    status = choice(*STATUSES)
