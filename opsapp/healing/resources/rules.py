"""Rules and their trust: /api/healing/rules, /api/healing/trust."""

from __future__ import annotations

from typing import NamedTuple

from BTrees.OOBTree import OOBTree
from zope.interface import Interface

from opsapp.automations.resources import digests, with_parts
from opsapp.healing.answers import TrustShown
from opsapp.healing.config import HealingSettings
from opsapp.healing.logic.levels import LEVELS, lowest
from opsapp.healing.places import healing_of
from opsapp.healing.records import RuleRecord, RuleSettings
from opsapp.healing.stages.trust import EDITED, Trust, evidence, needs, redefine
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Conflict, NotFound
from opsapp.runtime.events import emit
from opsapp.runtime.node import node_of, now_of
from opsapp.runtime.secrets.sealedfields import SealedFields
from opsapp.runtime.wakes import after_commit
from opsapp.tree.folder import Folder, Record
from opsapp.tree.root import Root
from opsapp.wire.records import made, plain

from .signedtrust import TRUST, SignedTrust


class IRuleReader(Interface):
    """Utility: called after each commit that changed rules, in its thread."""


def wake_rule_reader(root: Root) -> None:
    reader = node_of(root).registry.queryUtility(IRuleReader)
    if reader is not None:
        after_commit(root, reader)


class Rules(Folder):
    """/api/healing/rules. `version` grows with every change, for readers."""

    url = "/api/healing/rules"
    holds = "rule"

    def __init__(self) -> None:
        super().__init__()
        self.version = 0

    def touch(self, root: Root) -> None:
        self.version += 1
        wake_rule_reader(root)


class RuleDeeds(NamedTuple):
    """`whole`: all that it runs could be read."""

    definition: str
    whole: bool


class Rule(SealedFields, Record):
    """`source`: `default`, `yaml` or `api`. `record` is made once while the object is loaded."""

    url = "/api/healing/rules/{rule_id}"
    sealed_fields = ("fields",)
    _v_deeds: tuple[JsonObject, RuleDeeds] | None = None  # of these fields
    _v_record: tuple[JsonObject, RuleRecord] | None = None  # of which fields

    def __init__(self, fields: JsonObject, source: str, now: float):
        self.fields = fields
        self.source = source
        self.created_at = now
        self.updated_at = now

    @property
    def record(self) -> RuleRecord:
        fields = self.fields
        if self._v_record is None or self._v_record[0] is not fields:
            about = {name: getattr(self, name) for name in ("source", "created_at", "updated_at")}
            self._v_record = fields, made(RuleRecord, {**fields, **about, "id": self.__name__})
        return self._v_record[1]

    def deeds(self, root: Root) -> RuleDeeds:
        """Asked at each decision: kept where no automation is run."""
        if self._v_deeds is not None and self._v_deeds[0] is self.fields:
            return self._v_deeds[1]
        runs = self.record.automations
        parts = [part for automation_id in runs for part in with_parts(root, automation_id)]
        named = {*runs, *(child for part in parts for child in part.params.children)}
        deeds = RuleDeeds(definition_of(root, self.record), named <= {part.id for part in parts})
        if not runs:
            self._v_deeds = (self.fields, deeds)
        return deeds


class TrustBook(Folder):
    """/api/healing/trust. In a store of an older version no state is `signed`, or `defined` as this version defines
    rules. `marks`: how far each has come."""

    url = "/api/healing/trust"
    holds = TRUST
    signed = defined = False
    marks: OOBTree | None = None

    def __init__(self) -> None:
        super().__init__()
        self.signed = self.defined = True

    def all_marks(self) -> OOBTree:
        if self.marks is None:
            self.marks = OOBTree()
        return self.marks


class TrustState(SignedTrust):
    """An object of its own, because it changes with every trigger."""

    url = "/api/healing/trust/{rule_id}"

    def shown(self, now: float, settings: HealingSettings) -> TrustShown:
        trust = self.trust
        return TrustShown(
            trust.rule_id,
            trust.current_level,
            trust.ceiling,
            _whole(trust.promoted_at),
            _whole(trust.demoted_at),
            trust.promotion_count,
            trust.demotion_count,
            int(trust.last_evaluated),
            evidence(trust, now, settings),
            tuple(needs(trust, now, settings)),
        )

    def become(self, root: Root, trust: Trust, *, cause: str, now: float) -> None:
        """What follows from an edited one is not kept: the pipeline lets the rule fall."""
        if not self.is_sound(root):
            return
        before, self.trust = self.trust, trust
        self.mark(root)
        if before.current_level != trust.current_level:
            healing_of(root).book.review(root, trust.rule_id, now)
        if (before.current_level, before.ceiling) != (trust.current_level, trust.ceiling):
            settings = node_of(root).config[HealingSettings]
            emit(root, "trust", {**plain(self.shown(now, settings)), "old_level": before.current_level, "cause": cause})

    def fall(self, root: Root, rule: RuleSettings, now: float) -> None:
        """Somebody has edited it: the rule notifies at most, and its evidence begins anew."""
        level = lowest("notify", self.trust.current_level if self.trust.current_level in LEVELS else "notify")
        ceiling, definition = rule.trust_ceiling, definition_of(root, rule)
        self.trust = Trust(self.__name__, level, ceiling, definition, now, demoted_at=now, last_evaluated=now)
        self.mark(root)
        healing_of(root).book.review(root, self.__name__, now)
        settings = node_of(root).config[HealingSettings]
        emit(root, "trust", {**plain(self.shown(now, settings)), "old_level": None, "cause": EDITED})


def _whole(time: float | None) -> int | None:
    return None if time is None else int(time)


def put_rule(root: Root, rule_id: str, settings: RuleSettings, *, source: str, now: float) -> Rule:
    """A new one starts at its initial level, an edited one may lose trust."""
    healing = healing_of(root)
    rule, fields = healing.rules.get(rule_id), settings.stored()
    if rule is None:
        rule = healing.rules[rule_id] = Rule(fields, source, now)
    elif rule.record.stored() != fields or rule.source != source:
        rule.fields, rule.source, rule.updated_at = fields, source, now
    else:
        return rule
    _trusted(root, rule, now)
    return rule


def _trusted(root: Root, rule: Rule, now: float) -> None:
    healing, rule_id, settings = healing_of(root), rule.__name__, rule.record
    healing.rules.touch(root)
    healing.book.review(root, rule_id, now)
    ceiling, definition = settings.trust_ceiling, definition_of(root, settings)
    state = healing.trust.get(rule_id)
    if state is None:
        level = lowest(settings.initial_level, ceiling)
        fresh = Trust(rule_id, level, ceiling, definition, now, last_evaluated=now)
        state = healing.trust[rule_id] = TrustState(fresh)
        state.mark(root)
    else:
        state.become(root, redefine(state.trust, definition, ceiling, now), cause="edit", now=now)


def definition_of(root: Root, rule: RuleSettings) -> str:
    """Its automations included."""
    automations: dict[str, str] = {}
    for automation_id in rule.automations:
        automations |= digests(root, automation_id)
    return rule.definition(automations)


def automation_edited(root: Root, automation_id: str, now: float) -> None:
    """An edit, or the end, of an automation counts as an edit of all rules that run it."""
    healing = healing_of(root)
    for stored in healing.rules.whole():
        rule_id, rule = stored.__name__, stored.record
        used = rule.automations
        if automation_id in used or any(automation_id in digests(root, used_id) for used_id in used):
            state = healing.trust[rule_id]
            trust = redefine(state.trust, definition_of(root, rule), rule.trust_ceiling, now)
            state.become(root, trust, cause="edit", now=now)
            healing.book.review(root, rule_id, now)


# -- as they were, for `node.transact_at`


def rules_then(root: Root) -> list[RuleRecord]:
    return [rule.record for rule in healing_of(root).rules.values()]


def rule_then(root: Root, rule_id: str) -> RuleRecord:
    stored: Rule | None = healing_of(root).rules.get(rule_id)
    if stored is None:
        raise NotFound("There was no such rule.")
    return stored.record


def trust_then(root: Root, at: int, settings: HealingSettings) -> list[TrustShown]:
    return [state.shown(at, settings) for state in healing_of(root).trust.values()]


class DeletedRule(NamedTuple):
    rule: Rule
    state: TrustState | None


def put_rule_back(root: Root, gone: DeletedRule) -> None:
    """Puts a deleted rule back with its trust, unless that was edited in the store."""
    healing, rule_id = healing_of(root), gone.rule.__name__
    require_free(root, rule_id)
    if gone.state is not None and gone.state.is_sound(root):
        healing.trust[rule_id] = gone.state
    healing.rules[rule_id] = gone.rule
    _trusted(root, gone.rule, now_of(root))


def drop_rule(root: Root, rule_id: str) -> DeletedRule:
    healing = healing_of(root)
    gone = DeletedRule(healing.rules.get(rule_id), healing.trust.get(rule_id))
    del healing.rules[rule_id]
    if rule_id in healing.trust:
        del healing.trust[rule_id]
    healing.rules.touch(root)
    healing.book.review(root, rule_id, now_of(root))
    return gone


def require_free(root: Root, rule_id: str) -> None:
    if rule_id in healing_of(root).rules:
        raise Conflict(f"A rule {rule_id!r} exists already.", code="id_taken")
