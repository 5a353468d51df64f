"""The rule editor: the form as it stands, where its condition holds now, what it would do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from opsapp.healing.answers import ActionRecord
from opsapp.healing.records import RuleRecord, RuleSettings
from opsapp.healing.whatif import Compared, Replayed, Simulated
from opsapp.lib.jsontypes import JsonObject
from opsapp.ui.parts import ACTIONS, LIFT, NOW, OVER_PAST, PAST, READINGS, RULE, SOURCE, TRUST, WAIT
from opsapp.ui.reader import Answers, Reader, TemplateValues
from opsapp.wire.records import settings_in
from opsapp.wire.spoken import spoken_action

from .conditionbuilder import READABLE, builder
from .gates import WOULD, GateLine, of_dry_run
from .learned import card
from .problems import open_lines
from .ruledraft import DAYS, TRIED, RuleDraft, StepDraft, of_form, of_rule, rule_of
from .rulepast import past_of
from .worth import if_nobody_acts, worth_of

FRESH = {"severity": "warning", "for": "60s", "cooldown_s": "5 min", "trust_ceiling": "execute",
         "initial_level": "observation", "enabled": "true"}  # fmt: skip
PARTED = ("holdout", "waves")  # fields of which the form has all parts in one line
CHOICES = {
    part.name: getattr(part.kind, "choices", ())
    for part in settings_in(RuleSettings)
    if part.name in ("severity", "initial_level", "trust_ceiling")
}
VERDICTS = {True: ("bad", "True now on"), False: ("ok", "False on"), None: ("off", "Unknown on")}
# Fields of the API below another one, and the field of the form that has each.
BELOW = {"budget.slo": "budget_slo", "budget.window": "budget_window"}


class ParamField(NamedTuple):
    name: str
    label: str
    value: str
    choices: tuple[str, ...]
    numeric: bool
    several: bool
    hint: str
    wrong: str


class StepForm(NamedTuple):
    at: int
    action: str
    risk: str
    note: str
    params: tuple[ParamField, ...]
    wrong: str
    first: bool
    last: bool


class NowLine(NamedTuple):
    kind: str
    words: str
    readings: str


class TriedOn(NamedTuple):
    target: str
    words: str
    gates: tuple[GateLine, ...]


class PastCount(NamedTuple):
    would: int
    recorded: int
    words: str


def shape(answers: Answers, reader: Reader) -> TemplateValues:
    saved, given = answers.known(RULE), reader.given
    draft = of_form(given) if given else of_rule(saved) if saved else _begun(answers.known(SOURCE))
    actions = {row.name: row for row in answers[ACTIONS]}
    trust = next((row for row in answers.known(TRUST) or () if saved and row.rule_id == saved.id), None)
    rule_id = saved.id if saved else draft.values.get("id", "")
    now = answers.known(NOW)
    api = "PUT /api/healing/rules/{rule_id}" if saved else "POST /api/healing/rules"
    return {
        "title": rule_id if saved else f"Clone {source.id}" if (source := answers.known(SOURCE)) else "New rule",
        "rule_id": rule_id,
        "saved": saved,
        "values": {**{name: "" for name in FRESH}, **draft.values},
        "steps": tuple(_step(at, step, draft, actions, reader.wrong) for at, step in enumerate(draft.steps)),
        "alone": draft.alone,
        "changed": bool(given) and (saved is None or rule_of(draft) != rule_of(of_rule(saved))),
        "choices": CHOICES,
        "actions": tuple((risk, _names(actions, risk)) for risk in ("low", "medium", "high")),
        "readings": tuple(answers[READINGS]),
        "readable": READABLE,
        "builder": builder(given, answers[READINGS]),
        "now": _now(now) if now else (),
        "matching": now.matching if now else None,
        "tried": tuple(_tried(now, at, dry) for at in range(TRIED) if now and (dry := answers.get(f"dry-{at}"))),
        "past": _past(answers.known(PAST), saved),
        "over_past": past_of(over_past, reader) if (over_past := answers.known(OVER_PAST)) else None,
        "was_tried": given.get("do") == "try",
        "asked_past": given.get("do") == "past",
        "card": card(trust) if trust else None,
        "worth": worth_of(lift) if (lift := answers.known(LIFT)) else None,
        "alone_curve": if_nobody_acts(wait) if (wait := answers.known(WAIT)) else None,
        "problems": open_lines(answers, reader) if saved else (),
        "may_save": reader.may(api),
        "may_try": reader.may("POST /api/healing/evaluate"),
        "wrong": {**{name: text for part, text in reader.wrong.items() if (name := _whole(part))}, **reader.wrong},
        "problem": reader.problem or (reader.wrong.get("") or ""),
        "elsewhere": _elsewhere(reader.wrong),
    }


def _begun(source: RuleRecord | None) -> RuleDraft:
    """An empty rule, or another one like `source`, which has to earn its own trust."""
    if source is None:
        return RuleDraft(dict(FRESH), ())
    draft = of_rule(source)
    return draft._replace(values={**draft.values, "id": f"{source.id}-copy"})


def _names(actions: Mapping[str, ActionRecord], risk: str) -> tuple[str, ...]:
    return tuple(sorted(name for name, row in actions.items() if row.risk == risk))


def _step(
    at: int, step: StepDraft, draft: RuleDraft, actions: Mapping[str, ActionRecord], wrong: Mapping[str, str]
) -> StepForm:
    row = actions.get(step.action)
    paths = (f"escalation_chain.{at}", "action") if len(draft.steps) == 1 else (f"escalation_chain.{at}",)
    fields = []
    for name, told in (row.params if row else {}).items():
        message = next((wrong[path] for stem in paths if (path := f"{stem}.params.{name}") in wrong), "")
        fields.append(_param(name, told, step.params.get(name, ""), row.target_param if row else None, message))
    own = next((wrong[path] for stem in paths if (path := f"{stem}.action") in wrong), "")
    note = "" if row is None else "can be undone" if row.reversible else "cannot be undone"
    risk = row.risk if row else ""
    return StepForm(at, step.action, risk, note, tuple(fields), own, at == 0, at == len(draft.steps) - 1)


def _param(name: str, told: JsonObject, value: str, target: str | None, wrong: str) -> ParamField:
    kind, hints = told.get("type", "string"), []
    if name == target:
        hints.append("left out: what the event is about")
    elif told["required"]:
        hints.append("needed")
    if told["default"] not in (None, [], {}):
        hints.append(f"as usual: {told['default']}")
    if kind == "array":
        hints.append("several: a comma after each")
    if kind == "object":
        hints.append("as JSON")
    low, high = told.get("minimum"), told.get("maximum")
    if low is not None and high is not None and high < 2**31:
        hints.append(f"{low:g} to {high:g}")
    label = name.replace("_", " ")
    return ParamField(name, label[:1].upper() + label[1:], value, tuple(told.get("choices") or ()),
                      kind in ("integer", "number"), kind == "array", ", ".join(hints), wrong)  # fmt: skip


def _now(now: Compared) -> tuple[NowLine, ...]:
    """Where the condition holds: the worst first, and not more than fit."""
    lines = []
    for look in now.targets[:6]:
        kind, words = VERDICTS[look.verdict]
        told = [f"{name} {value}" for name, value in look.readings.items()]
        told += [f"{name} is not reported" for name in look.missing]
        lines.append(NowLine(kind, f"{words} {look.target}", ", ".join(told)))
    return tuple(lines)


def _tried(now: Compared, at: int, answer: Simulated) -> TriedOn:
    would, chosen = WOULD.get(answer.would, answer.would), answer.action_selection
    look = now.targets[at]
    if look.verdict is False:
        return TriedOn(look.target, "Nothing: the condition is false.", ())
    acts = answer.would in ("execute", "request_approval")
    did = f"{would}: {spoken_action(chosen.action_type)}." if acts and chosen else f"{would}."
    return TriedOn(look.target, did, of_dry_run(answer))


def _past(past: Replayed | None, saved: RuleRecord | None) -> PastCount | None:
    if past is None or saved is None:
        return None
    count = past.rules[0]
    times = "once" if count.would == 1 else f"{count.would} times"
    return PastCount(count.would, count.recorded, f"Of {DAYS} days, it would have fired {times}.")


def _whole(part: str) -> str:
    name = part.partition(".")[0]
    return BELOW.get(part) or (name if name in PARTED else "")


def _elsewhere(wrong: Mapping[str, str]) -> tuple[str, ...]:
    shown = {"", "id", "condition", "for", "cooldown_s", "settle_s", "verify_timeout_s", "description", "severity",
             "wait"}  # fmt: skip
    steps = ("escalation_chain.", "action.params.")
    return tuple(
        f"{name}: {message}"
        for name, message in wrong.items()
        if name not in shown and not _whole(name) and not name.startswith(steps)
    )
