"""Messages: the agent session's vocabulary as data. docs/wire.md tells the same story in prose.

Lives here: each message's sender, fields and whether it is acknowledged; encode and decode; the report.
Must not: keep state, touch sockets. What a message leads to is decided by whoever reads it.
"""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional

from .checks import checks_of
from .commands import ABSOLUTE_PATH, COMMAND, ID, SERVICE_NAME, check_result
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
    loads,
    mapping,
    may,
    need,
    nested,
    number,
    record,
    text,
)
from .frames import MAX_TEXT_FRAME
from .monitortypes import TYPES, every_own
from .plugins import MOST_METRICS, UNIT_LENGTH
from .probes import FAMILIES
from .records import made
from .reports import HELD, OUTCOME, REPORT, HostReport
from .webchecks import MOST_BODY, STATUS_RANGE

AGENT, SERVER, BOTH = "agent", "server", "both"
_SHA256 = text(64, low=64, pattern=r"[0-9a-f]{64}")
_STREAM = need(integer(1, 2**32 - 1))
_PROTECTED = may(listing(text(255, low=1), 1000))  # processes never to be acted upon, beside the agent's own list
_FEATURES = may(listing(text(32), 50), [])  # what the agent understands beyond the first protocol

PLACE = text(80, low=1, pattern=r"[0-9]+:[0-9]+:[0-9]+")  # in a file: device, inode, byte behind the line

STREAM_KINDS = ("file_get", "file_put", "logs", "metrics")
STREAM_ENDS = (
    "end",
    "left",
    "not_found",
    "not_allowed",
    "too_large",
    "bad_hash",
    "bad_request",
    "busy",
    "no_space",
    "io_error",
    "unsupported",
    "gone",
)

# What an agent is asked to look at; `allow` and `deny` are the networks that the server's configuration names.
PROBE_TARGET: Dict[str, WireField] = {
    "type": need(choice(*(name for name, declared in TYPES.items() if declared.by_agents))),
    "url": may(text(2000), ""),
    "timeout": need(number(0.1, 60)),
    "expected_status": may(integer(100, 599)),
    "method": may(text(16, low=1), "GET"),
    "headers": may(mapping(text(4000), 50), {}),
    "follow_redirects": may(boolean(), True),
    "verify_tls": may(boolean(), True),
    "accepted_statuses": may(listing(text(7, low=3, pattern=STATUS_RANGE), 50), []),
    "max_redirects": may(integer(0, 20)),
    "ip_family": may(choice(*FAMILIES), FAMILIES[0]),
    "body": may(text(MOST_BODY), ""),
    **checks_of(every_own()),
    "allow": may(listing(text(64), 1000), []),
    "deny": may(listing(text(64), 1000), []),
}
# What it saw; `ok` null: it could not look.
PROBED: Dict[str, WireField] = {
    "ok": may(boolean()),
    "response_time_ms": may(number(0)),
    "detail": may(text(2000), ""),
    "phases": may(mapping(number(0), 10)),
    "certificate_days": may(number()),
    "protocol": may(text(32)),
    "http_status": may(integer(0, 999)),
    "degraded": may(boolean()),
    "metrics": may(mapping(number(), MOST_METRICS)),
    "units": may(mapping(text(UNIT_LENGTH), MOST_METRICS)),
}

# policies.check_bundle looks into it, with the secret made from the agent's key.
SIGNED_POLICIES: Dict[str, WireField] = {"bundle": need(json_object(400000)), "signature": need(_SHA256)}

POLL_ANSWER: Dict[str, WireField] = {
    "status": need(choice("ok")),
    "interval": need(number(0.05, 3600)),
    "commands": may(listing(nested(COMMAND), 100), []),
    "cancel": may(listing(ID, 100), []),
    "policy_version": may(integer(0), 0),
    "time": may(number(0)),
    "protected_processes": _PROTECTED,
    "policies": may(nested(SIGNED_POLICIES)),  # when the report named an older policy_version
}


class MessageKind(NamedTuple):
    sender: str
    fields: Dict[str, WireField]
    acked: bool = False


def check_report(value: Any) -> JsonObject:
    """A report body: unknown fields ignored, a missing number is None (unknown), every wrong field named."""
    clean = record(value, REPORT, what="report")
    clean["results"] = [check_result(result) for result in clean["results"]]
    return clean


def read_report(value: Any) -> HostReport:
    return made(HostReport, check_report(value))


def check_poll_answer(value: Any) -> JsonObject:
    return record(value, POLL_ANSWER, what="answer")


MESSAGES: Dict[str, MessageKind] = {
    # ---- the session itself
    "hello": MessageKind(
        AGENT,
        {
            "protocol": need(integer(1, 1000)),
            "agent_id": need(ID),
            "machine_id": need(text(64, low=1)),
            "boot_id": may(text(64), ""),
            "hostname": need(text(253, low=1)),
            "os": may(text(255), ""),
            "version": need(text(64, low=1)),
            "pid": may(integer(1), None),
            "held": may(listing(nested(HELD), 5000), []),
            "policy_version": may(integer(0), 0),
            "time": may(number(0)),  # what the host's clock shows
            "capabilities": may(json_object(131072)),
            "features": _FEATURES,
        },
    ),
    "welcome": MessageKind(
        SERVER,
        {
            "protocol": need(integer(1, 1000)),
            "interval": need(number(0.05, 3600)),
            "policy_version": may(integer(0), 0),
            "time": may(number(0)),
            "protected_processes": _PROTECTED,
        },
    ),
    "settings": MessageKind(SERVER, {"interval": need(number(0.05, 3600)), "protected_processes": _PROTECTED}),
    "ping": MessageKind(BOTH, {"id": need(ID)}),
    "pong": MessageKind(BOTH, {"id": need(ID)}),
    "ack": MessageKind(BOTH, {"id": need(ID), "of": need(text(32, low=1))}),
    "refuse": MessageKind(
        BOTH,
        {"id": may(ID), "of": need(text(32, low=1)), "code": need(text(64, low=1)), "message": may(text(2000), "")},
    ),
    # ---- what the agent says
    "report": MessageKind(AGENT, {"id": need(ID), "report": need(check_report)}, acked=True),
    "result": MessageKind(AGENT, {"id": need(ID), "result": need(check_result)}, acked=True),
    "outcome": MessageKind(AGENT, {"id": need(ID), "outcome": need(nested(OUTCOME))}, acked=True),
    "started": MessageKind(AGENT, {"command_id": need(ID), "started_at": need(number(0))}),
    "output": MessageKind(
        AGENT, {"command_id": need(ID), "seq": need(integer(0)), "data": need(text(65536, nul=True))}
    ),
    "probed": MessageKind(AGENT, {"id": need(ID), "outcome": need(nested(PROBED))}),
    # ---- what the server asks
    "probe": MessageKind(SERVER, {"id": need(ID), "target": need(nested(PROBE_TARGET))}),
    "command": MessageKind(SERVER, {"id": need(ID), "command": need(nested(COMMAND))}, acked=True),
    "cancel": MessageKind(SERVER, {"id": need(ID)}, acked=True),
    "policies": MessageKind(SERVER, {"id": need(ID), **SIGNED_POLICIES}, acked=True),
    # ---- streams: files, logs, metrics
    "open": MessageKind(
        SERVER, {"stream": _STREAM, "kind": need(choice(*STREAM_KINDS)), "params": may(json_object(65536), {})}
    ),
    "opened": MessageKind(
        AGENT,
        {
            "stream": _STREAM,
            "size": may(integer(0)),
            "mtime": may(number(0)),
            "offset": may(integer(0), 0),
            "length": may(integer(0)),
            "path": may(text(4096)),
            "sha256": may(_SHA256),
        },
    ),
    "credit": MessageKind(BOTH, {"stream": _STREAM, "bytes": need(integer(1, 2**31))}),
    "lines": MessageKind(
        AGENT,
        {
            "stream": _STREAM,
            "lines": need(
                listing(
                    nested({"time": may(number(0)), "line": need(text(65536, nul=True)), "place": may(PLACE)}), 1000
                )
            ),
        },
    ),
    "finish": MessageKind(BOTH, {"stream": _STREAM, "size": need(integer(0)), "sha256": need(_SHA256)}),
    "closed": MessageKind(
        AGENT,
        {
            "stream": _STREAM,
            "code": need(choice(*STREAM_ENDS)),
            "message": may(text(2000), ""),
            "path": may(text(4096)),
            "size": may(integer(0)),
            "sha256": may(_SHA256),
        },
    ),
    "close": MessageKind(SERVER, {"stream": _STREAM}),
}

_ROLE = may(choice("viewer", "operator"), "operator")
STREAM_PARAMS: Dict[str, Dict[str, WireField]] = {
    "file_get": {
        "path": need(ABSOLUTE_PATH),
        "role": _ROLE,
        "offset": may(integer(0), 0),
        "length": may(integer(0)),
        "digest": may(boolean(), False),
    },
    "file_put": {"path": need(ABSOLUTE_PATH), "size": may(integer(0))},
    "logs": {
        "source": may(choice("journald", "file"), "journald"),
        "unit": may(SERVICE_NAME),
        "path": may(ABSOLUTE_PATH),
        "role": _ROLE,
        "lines": may(integer(0, 10000), 100),
        "after": may(PLACE),
    },
    "metrics": {},
}


def check_stream_params(kind: str, params: Any) -> JsonObject:
    clean = record(params, STREAM_PARAMS[kind], what="params")
    if kind == "logs" and clean["source"] == "file" and not clean["path"]:
        raise WireError("params: path is required", "invalid", {"path": "is required"})
    return clean


def encode(kind: str, /, **fields: Any) -> str:
    """The text frame of one message. Checked on the way out too: a wrong one is our own mistake."""
    clean = record(fields, MESSAGES[kind].fields, unknown="refuse", what=kind)
    shown = dumps({"type": kind, **{name: value for name, value in clean.items() if value is not None}})
    if len(shown) > MAX_TEXT_FRAME:
        raise WireError(f"{kind} is too large", "too_large")
    return shown.decode("utf-8")


def decode(frame: Any, sender: str) -> JsonObject:
    """The validated message of a text frame that `sender` ("agent" or "server") sent; WireError for all else."""
    if len(frame) > MAX_TEXT_FRAME:
        raise WireError("frame too large", "too_large")
    value = loads(frame)
    if not isinstance(value, dict):
        raise WireError("a message must be an object", "not_an_object")
    kind = value.get("type")
    message: Optional[MessageKind] = MESSAGES.get(kind) if isinstance(kind, str) else None
    if message is None:
        raise WireError("unknown message type", "unknown_type")
    if message.sender not in (sender, BOTH):
        raise WireError(f"{kind} is not for the {sender} to send", "wrong_sender")
    return {"type": kind, **record(value, message.fields, what=str(kind))}
