"""The reasons why a case ended, in words for people."""

from __future__ import annotations

# The longest beginning that fits says it.
REASONS = {
    "rule_disabled": "the rule is disabled",
    "rule_edited": "the rule was edited meanwhile",
    "paused": "healing is paused",
    "condition_gone": "it recovered by itself",
    "target_gone": "nobody watches it any more",
    "host_offline": "the host is away",
    "no_host": "no agent runs there, so there is nowhere to act",
    "ambiguous_host": "two hosts have this name",
    "no_capable_handler": "the host has no tool for it",
    "no_snapshot": "its state could not be recorded first",
    "low_effectiveness": "it has helped too rarely here",
    "in_vain": "no step can help",
    "protected": "it is protected",
    "wave_stopped": "the heal did not do well elsewhere",
    "chain_exhausted": "no step is left",
    "problem_overdue": "it comes back again and again, and the date to find its cause has passed",
    "external": "it is not ours to heal",
    "internal_error": "the service made a mistake",
    "beyond_budget": "more was done than was allowed without us",
    "level observation": "the rule only observes",
    "level dry-run": "the rule only tries dry",
    "level notify": "the rule only notifies people",
}


def stable_word(text: str) -> str:
    """With which it begins; "" where it begins with none."""
    known = [word for word in REASONS if text == word or text.startswith((word + ":", word + ";"))]
    return max(known, key=len, default="")


def reason(text: str) -> str:
    """What follows a stable word explains it."""
    word = stable_word(text)
    if not word:
        return text.replace("_", " ") if " " not in text else text
    more = text[len(word) :].lstrip(":; ")
    return REASONS[word] + (f" ({more})" if more else "")
