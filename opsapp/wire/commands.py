"""Commands: what a server may ask of an agent, as typed parameters, and what a result looks like.

Lives here: the command table, states, the record forms of command and result, the cutting of output.
Must not: run anything.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Tuple

from .actions import ACTIONS
from .causes import LookSubject
from .fields import (
    JsonObject,
    WireError,
    WireField,
    boolean,
    choice,
    dumps,
    integer,
    json_object,
    listing,
    mapping,
    may,
    need,
    number,
    record,
    text,
)
from .frames import OUTPUT_LIMIT
from .reports import RESULT

ID = text(64, low=1, pattern=r"[A-Za-z0-9_.:-]+")
SERVICE_NAME = text(255, low=1, pattern=r"[A-Za-z0-9_@.:\\][A-Za-z0-9_@.:\\-]*")
ABSOLUTE_PATH = text(4096, low=1, pattern=r"/[^\0]*")

FINAL_STATES = ("done", "failed", "timeout", "expired", "lost", "cancelled")
HEAL_PHASES = ("snapshot", "execute", "rollback", "confirm", "measure", "look")
ASKING = ("measure", "look")  # phases without an effect on the host
SERVICE_ACTIONS = ("start", "stop", "restart", "reload", "enable", "disable", "status")

# What becomes of what a program starts: it lives on; it ends with the program; it also reaches nobody else meanwhile.
LEFT, KEPT, KEPT_APART = "left", "kept", "apart"

DESCRIPTORS = 16  # of one program
VARIABLE = text(128, low=1, pattern=r"[A-Za-z_][A-Za-z0-9_]*")
# variable -> what the program reads from the descriptor whose number the variable has. Without any it is not sent: an
# older agent refuses what it does not know.
_DESCRIPTORS = may(mapping(text(32768), DESCRIPTORS, VARIABLE))
_TIMEOUT = may(integer(1, 3600), 60)

COMMANDS: Dict[str, Dict[str, WireField]] = {
    "shell": {
        "command": need(text(65536, low=1)),
        "timeout": _TIMEOUT,
        "env": may(mapping(text(32768), 256, VARIABLE), {}),
        "descriptors": _DESCRIPTORS,
        # With an interpreter, `command` is a script that is handed to it as a file; without one, /bin/sh -c reads it.
        "interpreter": may(text(255, low=1, pattern=r"[A-Za-z0-9/._+-]+")),
    },
    "service": {
        "service": need(SERVICE_NAME),
        "action": need(choice(*SERVICE_ACTIONS)),
        "timeout": may(integer(1, 3600)),  # without one, as long as the unit itself says
    },
    "process_list": {
        "sort": may(choice("cpu", "memory", "pid"), "cpu"),
        "limit": may(integer(1, 1000), 100),
        "timeout": _TIMEOUT,
    },
    "logs": {
        "source": may(choice("journald", "file"), "journald"),
        "unit": may(SERVICE_NAME),
        "path": may(ABSOLUTE_PATH),
        "lines": may(integer(1, 10000), 200),
        "role": may(choice("viewer", "operator"), "operator"),
        "timeout": _TIMEOUT,
    },
    "capabilities": {"timeout": _TIMEOUT},
    "heal": {
        "heal_id": need(ID),
        "token": need(integer(0)),
        "phase": need(choice(*HEAL_PHASES)),
        "action_type": may(choice(*sorted(ACTIONS))),
        "params": may(json_object(65536), {}),
        "snapshot": may(json_object(262144)),
        "timeout": may(integer(1, 3600)),
        "arm_s": may(number(1, 86400)),  # of an armed action: when it is undone unless confirmed
    },
    "update": {
        "version": need(text(64, low=1, pattern=r"[A-Za-z0-9.+_-]+")),
        "sha256": need(text(64, low=64, pattern=r"[0-9a-f]{64}")),
        "timeout": may(integer(1, 3600), 120),
    },
}

# What the service asks of its own executor, and of no agent: a program of an automation, or the steps of an action.
OWN_COMMANDS: Dict[str, Dict[str, WireField]] = {
    "program": {
        "name": need(ID),  # of the run or deed, for the environment and the names of directories
        "steps": need(listing(listing(text(65536), 1000), 100)),  # argument lists, in order until one fails
        "script": may(text(262144)),  # becomes a file, whose path is put at the end of the last step
        "env": may(mapping(text(32768), 256, VARIABLE), {}),
        "descriptors": _DESCRIPTORS,
        "timeout": need(number(0.01, 86400)),
        "grace": may(number(0, 60), 2.0),  # between TERM and KILL
        "limits": may(mapping(integer(0), 10), {}),  # flags of ulimit
        "umask": may(integer(0, 0o777), 0o077),
        "keeping": may(choice(LEFT, KEPT, KEPT_APART), LEFT),
        "no_new_privs": may(boolean(), False),  # set-uid programs gain nothing
        "output": may(boolean(), False),  # whether the result has the output: what is streamed needs no copy
        "action_type": may(choice(*sorted(ACTIONS))),  # with it, what is protected is not touched
        "params": may(json_object(65536), {}),
        "protected": may(listing(text(255, low=1), 1000), []),
    }
}

# On the way type and params are only bounded: an agent answers what it does not know with a failed result, so that
# a newer server can talk to it. check_params is the strict part, on both sides.
COMMAND: Dict[str, WireField] = {
    "command_id": need(ID),
    "type": need(text(64, low=1)),
    "params": may(json_object(400000), {}),
    "store": may(ID),  # which service asks: a heal's token is compared with those of the same one
}

_PARAM_NEEDS = {("logs", "journald"): "unit", ("logs", "file"): "path"}
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def check_params(kind: str, params: Any) -> JsonObject:
    """Validated parameters of a command with defaults filled in; unknown ones are refused by name."""
    fields = COMMANDS.get(kind) or OWN_COMMANDS.get(kind)
    if fields is None:
        known = ", ".join(sorted(COMMANDS))
        raise WireError("unknown command type", "unknown_type", {"type": f"must be one of {known}"})
    needed = _PARAM_NEEDS.get((kind, str(params.get("source") or "journald"))) if isinstance(params, dict) else None
    missing = {needed: "is required"} if needed and params.get(needed) is None else {}
    try:
        clean = record(params, fields, unknown="refuse", what="params")
    except WireError as wrong:
        raise WireError(str(wrong), wrong.code, {**missing, **wrong.fields}) from None
    if missing:
        raise WireError(f"params: {needed} is required", "invalid", missing)
    if kind == "heal" and clean["phase"] == "look":
        LookSubject.read(clean["params"])
    elif kind == "heal" and clean["phase"] not in ASKING:
        _check_heal(clean)
    return clean


def check_result(value: Any) -> JsonObject:
    clean = record(value, RESULT, what="result")
    if len(clean["output"].encode("utf-8")) > OUTPUT_LIMIT:
        raise WireError("result: output is larger than 1 MiB", "too_large", {"output": "is larger than 1 MiB"})
    return clean


def clean_output(raw: bytes, limit: int = OUTPUT_LIMIT) -> Tuple[str, bool]:
    """Readable text of at most `limit` bytes from what a program wrote, and whether something was cut."""
    shown = _CONTROL.sub("\ufffd", raw[: limit + 1].decode("utf-8", "replace"))
    return _cut(shown, limit, len(raw) > limit)


def fit_result(result: JsonObject, budget: int) -> JsonObject:
    """The result itself, or a copy with its output cut so that its JSON has at most `budget` bytes."""
    excess = len(dumps(result)) - budget
    if excess <= 0:
        return result
    size = len(result["output"].encode("utf-8"))
    shown, _ = _cut(result["output"], max(0, size - excess), True)
    return {**result, "output": shown, "truncated": True}


def _cut(shown: str, limit: int, truncated: bool) -> Tuple[str, bool]:
    raw = shown.encode("utf-8")
    if len(raw) <= limit:
        return shown, truncated
    return raw[:limit].decode("utf-8", "ignore"), True


def _check_heal(clean: JsonObject) -> None:
    if not clean["action_type"]:
        raise WireError("params: action_type is required", "invalid", {"action_type": "is required"})
    if clean["phase"] in ("snapshot", "execute"):
        clean["params"] = ACTIONS[clean["action_type"]].check(clean["params"])
