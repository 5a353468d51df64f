"""What a server may ask of an agent, as typed parameters, and what a result looks like.

Must not: run anything.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import Annotated, Any, Dict, Literal, Optional, Tuple

from .actions import ACTIONS
from .causes import LookSubject
from .checks import OnWire, checks_of
from .dataclass import frozen
from .fields import JsonObject, WireError, dumps, integer, json_object, mapping, record, text
from .frames import OUTPUT_LIMIT
from .kinds import REQUIRED, Choice, Text
from .records import Between, Most, made, plain
from .reports import REPORT, RESULT, CommandResult, HostReport, Id, Passed, SmallObject, Whole0

FINAL_STATES = ("done", "failed", "timeout", "expired", "lost", "cancelled")
HEAL_PHASES = ("snapshot", "execute", "rollback", "confirm", "measure", "look")
ASKING = ("measure", "look")  # phases without an effect on the host
SERVICE_ACTIONS = ("start", "stop", "restart", "reload", "enable", "disable", "status")

# What becomes of what a program starts: it lives on; it ends with the program; it also reaches nobody else meanwhile.
LEFT, KEPT, KEPT_APART = "left", "kept", "apart"

DESCRIPTORS = 16  # of one program
VARIABLE = text(128, low=1, pattern=r"[A-Za-z_][A-Za-z0-9_]*")

Place = Annotated[Optional[str], Text(1, 80, r"[0-9]+:[0-9]+:[0-9]+")]  # in a file: device, inode, byte behind the line
Size = Annotated[Optional[int], Between(0)]
ServiceName = Annotated[str, Text(1, 255, r"[A-Za-z0-9_@.:\\][A-Za-z0-9_@.:\\-]*")]
AbsolutePath = Annotated[str, Text(1, 4096, r"/[^\0]*")]
Sha256 = Annotated[str, Text(64, 64, r"[0-9a-f]{64}")]
Seconds = Annotated[int, Between(1, 3600)]
LogKind = Literal["journald", "file"]
Role = Literal["viewer", "operator"]
Arguments = Annotated[Tuple[Annotated[str, Text(0, 65536)], ...], Most(1000)]
ActionName = Annotated[Optional[str], Choice(*sorted(ACTIONS))]
Variables = Annotated[Dict[str, str], OnWire(mapping(text(32768), 256, VARIABLE))]
# variable -> what the program reads from the descriptor whose number the variable has. Without any it is not sent: an
# older agent refuses what it does not know.
Descriptors = Annotated[Optional[Dict[str, str]], OnWire(mapping(text(32768), DESCRIPTORS, VARIABLE))]


@frozen
class ShellParams:
    command: Annotated[str, Text(1, 65536)]
    timeout: Seconds = 60
    env: Variables = field(default_factory=dict)
    descriptors: Descriptors = None
    # With an interpreter, `command` is a script that is handed to it as a file; without one, /bin/sh -c reads it.
    interpreter: Annotated[Optional[str], Text(1, 255, r"[A-Za-z0-9/._+-]+")] = None


@frozen
class ServiceCommand:
    service: ServiceName
    action: Annotated[str, Choice(*SERVICE_ACTIONS)]
    timeout: Optional[Seconds] = None  # without one, as long as the unit itself says


@frozen
class ProcessListParams:
    sort: Literal["cpu", "memory", "pid"] = "cpu"
    limit: Annotated[int, Between(1, 1000)] = 100
    timeout: Seconds = 60


@frozen
class LogParams:
    source: LogKind = "journald"
    unit: Optional[ServiceName] = None
    path: Optional[AbsolutePath] = None
    lines: Annotated[int, Between(1, 10000)] = 200
    role: Role = "operator"
    timeout: Seconds = 60


@frozen
class CapabilitiesParams:
    timeout: Seconds = 60


@frozen
class HealCommand:
    """`params` are those of its action (`actionparams`), or what a look is about."""

    heal_id: Id
    token: Whole0
    phase: Annotated[str, Choice(*HEAL_PHASES)]
    action_type: ActionName = None
    params: SmallObject = field(default_factory=dict)
    snapshot: Annotated[Optional[Passed], OnWire(json_object(262144))] = None
    timeout: Optional[Seconds] = None
    arm_s: Annotated[Optional[float], Between(1, 86400)] = None  # armed: when it is undone unless confirmed


@frozen
class UpdateParams:
    version: Annotated[str, Text(1, 64, r"[A-Za-z0-9.+_-]+")]
    sha256: Sha256
    timeout: Annotated[int, Between(1, 3600)] = 120


@frozen
class ProgramCommand:
    """What the service asks of its own executor only: a program of an automation, or the steps of an action."""

    name: Id  # of the run or deed, for the environment and the names of directories
    steps: Annotated[Tuple[Arguments, ...], Most(100)]  # argument lists, in order until one fails
    script: Annotated[Optional[str], Text(0, 262144)] = None  # a file, whose path is put at the end of the last step
    env: Variables = field(default_factory=dict)
    descriptors: Descriptors = None
    timeout: Annotated[float, Between(0.01, 86400)] = REQUIRED
    grace: Annotated[float, Between(0, 60)] = 2.0  # between TERM and KILL
    limits: Annotated[Dict[str, int], OnWire(mapping(integer(0), 10))] = field(default_factory=dict)  # of ulimit
    umask: Annotated[int, Between(0, 0o777)] = 0o077
    keeping: Annotated[str, Choice(LEFT, KEPT, KEPT_APART)] = LEFT
    no_new_privs: bool = False  # set-uid programs gain nothing
    output: bool = False  # whether the result has the output: what is streamed needs no copy
    action_type: ActionName = None  # with it, what is protected is not touched
    params: SmallObject = field(default_factory=dict)
    protected: Annotated[Tuple[Annotated[str, Text(1, 255)], ...], Most(1000)] = ()


@frozen
class CommandSent:
    """On the wire, type and params are only bounded: an agent answers what it does not know with a failed result, so
    that a newer server can talk to it. `check_params` is the strict part, on both sides."""

    command_id: Id
    type: Annotated[str, OnWire(text(64, low=1))]
    params: Annotated[Passed, OnWire(json_object(400000))] = field(default_factory=dict)
    store: Optional[Id] = None  # which service asks: a heal's token is compared with those of the same one


PARAMS: Dict[str, type] = {
    "shell": ShellParams,
    "service": ServiceCommand,
    "process_list": ProcessListParams,
    "logs": LogParams,
    "capabilities": CapabilitiesParams,
    "heal": HealCommand,
    "update": UpdateParams,
}
COMMANDS = {kind: checks_of(params) for kind, params in PARAMS.items()}
_OWN = {"program": checks_of(ProgramCommand)}


# ---- what streams are asked for
@frozen
class FileGetParams:
    path: AbsolutePath
    role: Role = "operator"
    offset: Whole0 = 0
    length: Size = None
    digest: bool = False


@frozen
class FilePutParams:
    path: AbsolutePath
    size: Size = None


@frozen
class LogTailParams:
    source: LogKind = "journald"
    unit: Optional[ServiceName] = None
    path: Optional[AbsolutePath] = None
    role: Role = "operator"
    lines: Annotated[int, Between(0, 10000)] = 100
    after: Place = None


@frozen
class MetricsParams:
    """There is nothing to choose."""


_STREAM_PARAMS: Dict[str, type] = {
    "file_get": FileGetParams,
    "file_put": FilePutParams,
    "logs": LogTailParams,
    "metrics": MetricsParams,
}
STREAM_KINDS = tuple(_STREAM_PARAMS)


def read_stream_params(kind: str, params: Any) -> Any:
    asked = _STREAM_PARAMS[kind]
    read = made(asked, record(params, checks_of(asked), what="params"))
    if kind == "logs" and read.source == "file" and not read.path:
        raise WireError("params: path is required", "invalid", {"path": "is required"})
    return read


_PARAM_NEEDS = {("logs", "journald"): "unit", ("logs", "file"): "path"}
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def check_params(kind: str, params: Any) -> JsonObject:
    fields = COMMANDS.get(kind) or _OWN.get(kind)
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


def read_params(kind: str, params: Any) -> Any:
    return made(PARAMS.get(kind, ProgramCommand), check_params(kind, params))


def check_result(value: Any) -> JsonObject:
    clean = record(value, RESULT, what="result")
    if len(clean["output"].encode("utf-8")) > OUTPUT_LIMIT:
        raise WireError("result: output is larger than 1 MiB", "too_large", {"output": "is larger than 1 MiB"})
    return clean


def check_report(value: Any) -> JsonObject:
    """Unknown fields are ignored; a missing number is None (unknown)."""
    clean = record(value, REPORT, what="report")
    clean["results"] = [check_result(result) for result in clean["results"]]
    return clean


def read_report(value: Any) -> HostReport:
    return made(HostReport, check_report(value))


def clean_output(raw: bytes, limit: int = OUTPUT_LIMIT) -> Tuple[str, bool]:
    """Readable text of at most `limit` bytes, and whether something was cut."""
    shown = _CONTROL.sub("\ufffd", raw[: limit + 1].decode("utf-8", "replace"))
    return _cut(shown, limit, len(raw) > limit)


def fit_result(result: CommandResult, budget: int) -> CommandResult:
    """Its output is cut so that its JSON has at most `budget` bytes."""
    excess = len(dumps(plain(result))) - budget
    if excess <= 0:
        return result
    size = len(result.output.encode("utf-8"))
    shown, _ = _cut(result.output, max(0, size - excess), True)
    return replace(result, output=shown, truncated=True)


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
