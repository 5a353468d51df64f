"""Questions that people ask often, answered by the tools; they end at a person. An argument stands in quotation marks,
as data. Pure."""

from __future__ import annotations

import json
from typing import NamedTuple

from .answers import PromptArgument, PromptListed, PromptMessage, PromptRead, TextContent
from .jsonrpc import INVALID_PARAMS, RpcError
from .protocol import DATA

LONGEST = 2000  # characters of an argument
PROPOSING = (
    "Propose at most one thing, with its reason in one sentence, or say that nothing is to be proposed and why. "
)


class AssistantPrompt(NamedTuple):
    """`text` has a place for each argument, by its name."""

    name: str
    title: str
    about: str
    text: str
    arguments: tuple[PromptArgument, ...] = ()


PROMPTS = (
    AssistantPrompt(
        "what_is_wrong",
        "What is wrong now?",
        "A round through all that needs somebody, the worst first.",
        "Read overview, then explain_incident for each open incident, at most five. Say what is wrong, the worst first:"
        " since when, what it hangs on, what the service has tried and what came of it, and who is on call. Say what "
        "needs a person, and what may be left to the service. Give the ids of what you speak of.",
    ),
    AssistantPrompt(
        "why_this_incident",
        "Why did this happen?",
        "The causes of an incident, each with what speaks for it.",
        "Read explain_incident for the incident {incident_id}, and explain_moment for the time when it began. Name the "
        "likely causes, each with what speaks for it and against it, and keep apart what was measured and what you "
        "suppose. " + PROPOSING,
        (PromptArgument("incident_id", "The incident's id"),),
    ),
    AssistantPrompt(
        "why_this_heal",
        "Why was this done, or not done?",
        "How a case of healing went, gate by gate.",
        "Read explain_case for the case {case_id}, and explain_rule for its rule. Say in plain words what was seen, "
        "which gates it passed, what was done or held back and by what, and what was measured afterwards. Do not "
        "propose anything.",
        (PromptArgument("case_id", "The case's id"),),
    ),
    AssistantPrompt(
        "draft_a_rule",
        "Draft a rule",
        "A rule against a problem that comes again, tried over the past before it is proposed.",
        "A person describes a problem that comes again: {problem}. Read list_rules and the guide's pages conditions"
        " and actions (opsapp://guide/conditions, opsapp://guide/actions). Write a draft, try it with what_if over 7 "
        "days, and change it until it would have fired when it should and not otherwise. Show the draft and what it "
        "would have done. " + PROPOSING,
        (PromptArgument("problem", "What happens again and again, in words"),),
    ),
)
BY_NAME = {prompt.name: prompt for prompt in PROMPTS}


def listed() -> list[PromptListed]:
    return [PromptListed(prompt.name, prompt.title, prompt.about, prompt.arguments) for prompt in PROMPTS]


def got(params: dict[str, object]) -> PromptRead:
    name, given = params.get("name"), params.get("arguments")
    prompt = BY_NAME.get(name) if isinstance(name, str) else None
    if prompt is None:
        raise RpcError(INVALID_PARAMS, "There is no such prompt.")
    text = prompt.text.format(**_quoted(prompt, {} if given is None else given)) + " " + DATA
    return PromptRead(prompt.about, (PromptMessage(TextContent(text)),))


def _quoted(prompt: AssistantPrompt, given: object) -> dict[str, str]:
    names = {argument.name for argument in prompt.arguments}
    if not isinstance(given, dict) or given.keys() != names:
        raise RpcError(INVALID_PARAMS, f"This prompt takes: {', '.join(sorted(names)) or 'no arguments'}.")
    if not all(isinstance(text, str) and 0 < len(text) <= LONGEST for text in given.values()):
        raise RpcError(INVALID_PARAMS, f"Each argument is a text of 1 to {LONGEST} characters.")
    return {name: json.dumps(text, ensure_ascii=False) for name, text in given.items()}
