"""Automations: what people wrote (a Definition, replaced whole). How they stand is in `standing`."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from BTrees.OOBTree import OOBTree

from opsapp.automations.logic import settings as meaning
from opsapp.automations.logic import templates
from opsapp.automations.logic.params import Params
from opsapp.automations.logic.settings import AutomationSettings
from opsapp.lib.placeholders import places
from opsapp.runtime.secrets.sealedfields import SealedFields
from opsapp.tree.folder import Facet, Folder, Record
from opsapp.tree.sharded import ShardedTree
from opsapp.wire.records import made

from .places import automations_of
from .standing import AutomationStanding, RunHistory, Standings


class Definition(SealedFields):
    """An edit makes another one, and a run keeps the one that it was asked for under. `settings` as stored, `record`
    the same, typed."""

    sealed_fields = ("settings",)
    _v_record: tuple[dict[str, object], AutomationSettings] | None = None  # of which settings

    def __init__(self, settings: AutomationSettings, now: float):
        self.settings = settings.stored()
        self.digest = meaning.digest(self.settings)
        self.made_at = now

    @property
    def record(self) -> AutomationSettings:
        stored = self.settings
        if self._v_record is None or self._v_record[0] is not stored:
            self._v_record = stored, made(AutomationSettings, stored)
        return self._v_record[1]

    @property
    def secret_names(self) -> set[str]:
        return {name for kind, name in places(self.settings["params"]) if kind == "secret"}


class SchedulePlan(NamedTuple):
    """What a tick has to know of a scheduled automation, many to an object: else a tick of ten thousand reads twenty
    thousand objects, half of its time. Written with every edit; transactions about different ones merge, so the values
    compare.

    `zone` is empty for the configuration's. `simple`: nobody is asked first, and there are no inputs.
    """

    digest: str
    made_at: float
    schedule: str
    zone: str
    catch_up: bool
    simple: bool
    outline: tuple[str, str, str]
    concurrency: str
    definition: Definition  # stays where it is until somebody looks into it

    @property
    def name(self) -> str:
        return self.outline[0]


def plan_of(definition: Definition) -> SchedulePlan | None:
    """None: it has no schedule, or is switched off."""
    settings = definition.record
    if not settings.schedule or not settings.enabled:
        return None
    return SchedulePlan(
        definition.digest,
        definition.made_at,
        settings.schedule,
        settings.timezone or "",
        settings.catch_up,
        not settings.requires_approval and not settings.inputs,
        settings.outline,
        settings.concurrency,
        definition,
    )


class Webhooks(Facet):
    """/api/automations/webhook. The token is in the path; a wrong one is an address too, where nobody lives."""

    url = "/api/automations/webhook"

    def __getitem__(self, token: str) -> WebhookAddress:
        return WebhookAddress(self, token)


class WebhookAddress(Facet):
    """/api/automations/webhook/{token}"""

    url = "/api/automations/webhook/{token}"


class Templates(Facet):
    """/api/automations/templates"""

    url = "/api/automations/templates"

    def __getitem__(self, template_id: str) -> Template:
        if template_id not in templates.BY_ID:
            raise KeyError(template_id)
        return Template(self, template_id)


class Template(Facet):
    """/api/automations/templates/{template_id}"""

    url = "/api/automations/templates/{template_id}"


class Automations(Folder):
    """/api/automations; `runs` is a folder of its own below it."""

    url = "/api/automations"
    holds = "automation"
    facets: ClassVar[dict[str, type]] = {"webhook": Webhooks, "templates": Templates}

    def __init__(self, runs: Folder) -> None:
        super().__init__()
        self._children = ShardedTree()
        self.runs = runs
        self.runs.__parent__ = self
        self.runs.__name__ = "runs"
        self.standings = Standings()
        self.plans = OOBTree()  # automation id -> Plan

    def __setitem__(self, name: str, automation: Any) -> None:
        super().__setitem__(name, automation)
        self.plan(automation)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self.standings.drop(name)
        self.plans.pop(name, None)

    def plan(self, automation: Automation) -> None:
        """Its schedule is another one now, or none."""
        plan = plan_of(automation.definition)
        if plan is None:
            self.plans.pop(automation.id, None)
        else:
            self.plans[automation.id] = tuple(plan)

    def plan_for(self, automation_id: str) -> SchedulePlan | None:
        """None: it has no schedule, is switched off, or is not there."""
        kept = self.plans.get(automation_id)
        return None if kept is None else SchedulePlan(*kept)

    def __getitem__(self, name: str) -> Any:
        return self.runs if name == "runs" else super().__getitem__(name)


class Automation(Record):
    """/api/automations/{automation_id}"""

    url = "/api/automations/{automation_id}"
    loads_with = ("definition",)
    authors: tuple[str, ...] = ()  # who wrote it, edited it or made its token since a run of it was last approved

    def __init__(self, definition: Definition, by: str, now: float):
        self.definition = definition
        self.created_at = now
        self.created_by = by
        self.authors = (by,)
        self.token_sealed = ""
        self.token_digest = ""

    @property
    def id(self) -> str:
        return self.__name__

    @property
    def settings(self) -> AutomationSettings:
        return self.definition.record

    @property
    def name(self) -> str:
        return self.settings.name

    @property
    def params(self) -> Params:
        return self.settings.params

    @property
    def state(self) -> AutomationStanding:
        return AutomationStanding(self.__parent__.standings, self.__name__)

    @property
    def history(self) -> RunHistory:
        return self.state.history

    def add_author(self, name: str) -> None:
        if name not in self.authors:
            self.authors = (*self.authors, name)

    def redefine(self, settings: AutomationSettings, now: float) -> bool:
        made = Definition(settings, now)
        if made.digest == self.definition.digest:
            return False
        self.definition = made
        self.__parent__.plan(self)
        return True


def with_parts(root: Any, automation_id: str) -> list[Automation]:
    """The automation and all that it is made of, at any depth; empty when there is none."""
    known: dict[str, Automation] = {}
    waiting = [automation_id]
    while waiting:
        automation = automations_of(root).find(waiting.pop())
        if automation is not None and automation.id not in known:
            known[automation.id] = automation
            waiting += automation.params.children
    return list(known.values())


def digests(root: Any, automation_id: str) -> dict[str, str]:
    """What it does, exactly: the digest of each of these by its id."""
    return {automation.id: automation.definition.digest for automation in with_parts(root, automation_id)}
