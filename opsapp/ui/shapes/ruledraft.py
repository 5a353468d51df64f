"""A rule that is being written: from the form to the API's rule and back. An act on the draft (a step more, a step up)
changes the form, which is shown again: nothing that was filled in is lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from opsapp.healing.records import RuleSettings, RuleTargets, WaveSizes
from opsapp.lib import durations
from opsapp.lib.jsontypes import JsonObject
from opsapp.ui.parts import NOW
from opsapp.ui.questions import Question
from opsapp.ui.reader import Answers
from opsapp.ui.rowmoves import moved
from opsapp.ui.words import separated
from opsapp.wire.actions import ACTIONS

from .conditionbuilder import build

TRIED = 3  # targets on which a draft is tried
DAYS = 7
UNSAVED = "draft"  # the id under which a rule without a name is tried
DURATIONS = ("cooldown_s", "settle_s", "verify_timeout_s")
TEXTS = ("condition", "severity", "for", "trust_ceiling", "initial_level", "description")


class StepDraft(NamedTuple):
    action: str
    params: dict[str, str]


class RuleDraft(NamedTuple):
    """`alone`: the one step is kept as the rule's `action`, as it was saved."""

    values: dict[str, str]
    steps: tuple[StepDraft, ...]
    alone: bool = False


def of_form(form: Mapping[str, str]) -> RuleDraft:
    count = int(form["steps"]) if form.get("steps", "").isdecimal() and len(form["steps"]) < 3 else 0
    steps = [StepDraft(form.get(f"step-{at}", ""), _params(form, at)) for at in range(count)]
    named = {name: text for name, text in form.items() if not name.startswith(("step-", "pick_"))}
    if form.get("do") == "build":
        named["condition"] = build(form).condition
    return RuleDraft(
        named, tuple(_acted(steps, form.get("do", ""), form.get("new_action", ""))), bool(form.get("alone"))
    )


def _params(form: Mapping[str, str], at: int) -> dict[str, str]:
    start = f"step-{at}."
    return {name[len(start) :]: text for name, text in form.items() if name.startswith(start)}


def _acted(steps: list[StepDraft], do: str, new: str) -> list[StepDraft]:
    verb, _, number = do.partition("-")
    if verb == "add" and new in ACTIONS:
        return [*steps, StepDraft(new, {})]
    return moved(steps, verb, number)


def of_rule(said: RuleSettings) -> RuleDraft:
    targets, texts = said.targets or RuleTargets(), {"for": str(said.hold)}
    values = {name: texts.get(name) or str(getattr(said, name)) for name in TEXTS}
    for name in DURATIONS:
        seconds = getattr(said, name)
        values |= {name: "" if seconds is None else durations.in_words(seconds)}
    values |= {
        "targets": "some" if said.targets else "",
        "agents": ", ".join(targets.agents),
        "monitors": ", ".join(targets.monitors),
        "wait": said.wait or "",
        "holdout": str(said.holdout.share) if said.holdout else "",
        "waves": _in_waves(said.waves),
        "budget_slo": str(said.budget.slo) if said.budget else "",
        "budget_window": _told_span(said.budget.window) if said.budget else "",
        "enabled": "true" if said.enabled else "",
        "runs_on": said.acts_on or "",
    }
    steps = tuple(StepDraft(step.action, _told(step.params)) for step in said.steps)
    return RuleDraft(values, steps, alone=not said.escalation_chain)


def _told(params: Mapping[str, object]) -> dict[str, str]:
    return {name: _text(value) for name, value in params.items() if value is not None}


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return json.dumps(value) if isinstance(value, dict | bool) else str(value)


def rule_of(draft: RuleDraft) -> JsonObject:
    """What is not readable as its type goes as it is: the API names the field."""
    values = draft.values
    texts = {name: text.replace("\r\n", "\n") for name, text in values.items() if name in TEXTS and text}
    times = {name: _seconds(text) if text else None for name, text in values.items() if name in DURATIONS}
    slo, window = values.get("budget_slo"), _span(values.get("budget_window") or "30d")
    agents, monitors = separated(values.get("agents", "")), separated(values.get("monitors", ""))
    share = values.get("holdout")
    return {
        **texts,
        **{name: time for name, time in times.items() if time is not None or name != "cooldown_s"},
        "condition": " ".join(values.get("condition", "").split()),
        "enabled": bool(values.get("enabled")),
        "wait": values.get("wait") or None,
        "holdout": {"share": _number(share)} if share else None,
        "waves": _waves(values.get("waves", "")),
        "budget": {"slo": _number(slo), "window": window} if slo else None,
        "description": values.get("description", ""),
        "for": _span(values.get("for") or "0"),
        "targets": {"agents": agents, "monitors": monitors} if agents or monitors else None,
        **_acts(draft, values.get("runs_on") or None),
    }


def _acts(draft: RuleDraft, where: str | None) -> JsonObject:
    """A single step that is bound to a host, or was saved so, is the rule's `action`."""
    first = {"type": draft.steps[0].action, "target": where} if draft.steps else None
    if first is not None and len(draft.steps) == 1 and (draft.alone or where):
        params = _typed(draft.steps[0])
        return {"action": first | ({"params": params} if params else {}), "escalation_chain": []}
    chain = [{"action": step.action, "params": _typed(step)} for step in draft.steps]
    return {"action": first if where else None, "escalation_chain": chain}


def _seconds(text: str) -> object:
    """Seconds, however the time is written; what is no time goes as it is."""
    try:
        seconds = durations.from_words(text)
    except ValueError:
        return text
    return int(seconds) if seconds == int(seconds) else seconds


def _span(text: str) -> object:
    """As the API writes it, like 5m; a bare number stays one."""
    seconds = _seconds(text)
    return seconds if isinstance(seconds, str) or text.strip().isdecimal() else durations.written(float(str(seconds)))


def _in_waves(waves: WaveSizes | str | None) -> str:
    """As it is written in the field: off, or 1, 10 %, 50 %, 100 %."""
    if not isinstance(waves, WaveSizes):
        return waves or ""
    return ", ".join([str(waves.first), *(f"{share * 100:.12g} %" for share in waves.growth)])


def _waves(text: str) -> object:
    parts = separated(text)
    if len(parts) < 2 and not text[:1].isdecimal():
        return text.strip() or None
    return {"first": _number(parts[0]), **({"growth": [_share(part) for part in parts[1:]]} if parts[1:] else {})}


def _share(text: str) -> object:
    share = _number(text.removesuffix("%").strip())
    return round(share / 100, 12) if text.endswith("%") and not isinstance(share, str) else share


def _typed(step: StepDraft) -> JsonObject:
    action, typed = ACTIONS.get(step.action), {}
    for name, text in step.params.items():
        field = action.params.get(name) if action else None
        if text and field is not None:
            typed[name] = _value(str(field.describe().get("type", "string")), text)
    return typed


def _value(kind: str, text: str) -> object:
    if kind in ("integer", "number"):
        return _number(text)
    if kind == "array":
        return separated(text)
    if kind in ("object", "boolean"):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _told_span(span: float | str) -> str:
    return durations.in_words(durations.seconds(span)) if span else ""


def _number(text: str) -> int | float | str:
    try:
        return int(text) if text.removeprefix("-").isdecimal() else float(text)
    except ValueError:
        return text


# -- what the API is asked ---------------------------------------------------------------------------------------------


def questions(form: Mapping[str, str], ids: Mapping[str, str], answers: Answers) -> tuple[Question, ...]:
    """What the page asks the API of a draft: where the condition holds now; when the draft is tried, what it would do
    there, or would have done."""
    draft = of_form(form)
    rule = rule_of(draft)
    asked = [
        Question("now", "POST /api/healing/evaluate", {"condition": rule["condition"], "targets": rule["targets"]})
    ]
    whole = {**rule, "id": ids.get("rule_id") or form.get("id") or UNSAVED}
    if form.get("do") == "past" and draft.steps:
        asked.append(Question("over_past", "POST /api/healing/whatif", {"rule": whole, "days": DAYS}))
    if form.get("do") != "try" or not draft.steps:
        return tuple(asked)
    asked.append(Question("past", "POST /api/healing/replay", {"days": DAYS, "rules": [whole]}))
    for at, looked in enumerate(now.targets[:TRIED] if (now := answers.known(NOW)) else ()):
        event = {"rule_id": whole["id"], "target": looked.target, "source": "test"}
        asked.append(Question(f"dry-{at}", "POST /api/healing/dry-run", {"event": event, "rule": whole}))
    return tuple(asked)


def save(form: Mapping[str, str], ids: Mapping[str, str]) -> Question:
    rule = rule_of(of_form(form))
    if "rule_id" in ids:
        return Question("saved", f"PUT /api/healing/rules/{ids['rule_id']}", rule)
    return Question("saved", "POST /api/healing/rules", {**rule, **({"id": form["id"]} if form.get("id") else {})})
