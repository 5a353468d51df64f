"""The agent session's vocabulary as data. docs/wire.md tells the same story in prose.

Must not: keep state, touch sockets.
"""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import Annotated, Any, Callable, ClassVar, Dict, Literal, Mapping, Optional, Tuple, TypeVar

from .checks import OnWire, checks_of
from .commands import STREAM_KINDS, CommandSent, Place, Sha256, Size, check_report, check_result
from .dataclass import frozen
from .fields import (
    JsonObject,
    WireError,
    WireField,
    choice,
    dumps,
    json_object,
    listing,
    loads,
    need,
    nested,
    number,
    record,
    text,
)
from .frames import MAX_TEXT_FRAME
from .kinds import REQUIRED, Choice, Text
from .probemessages import PROBE_TARGET
from .probes import Outcome
from .records import Between, Most, SaidAs, made, plain
from .reports import CommandResult, Count, HeldCommand, HostReport, Id, LocalOutcome, Passed, SmallObject, Whole0

M = TypeVar("M", bound=type)
AGENT, SERVER, BOTH = "agent", "server", "both"
Interval = Annotated[float, OnWire(number(0.05, 3600))]
Protocol = Annotated[int, Between(1, 1000)]
Stream = Annotated[int, Between(1, 2**32 - 1)]
Kind = Annotated[str, Text(1, 32)]
Words = Annotated[str, Text(0, 2000)]
Line = Annotated[str, OnWire(text(65536, nul=True))]
Path = Annotated[Optional[str], Text(0, 4096)]
# Processes never to be acted upon, beside the agent's own list.
Protected = Annotated[Optional[Tuple[Annotated[str, Text(1, 255)], ...]], Most(1000)]
Features = Annotated[Tuple[Annotated[str, Text(0, 32)], ...], Most(50)]  # what it understands beyond the first protocol

STREAM_ENDS = (
    "end", "left", "not_found", "not_allowed", "too_large", "bad_hash", "bad_request", "busy", "no_space", "io_error",
    "unsupported", "gone",
)  # fmt: skip


class MessageKind:
    def __init__(self, sender: str, of: Any):
        self.sender, self.of = sender, of

    @cached_property
    def fields(self) -> Dict[str, WireField]:
        return checks_of(self.of)


MESSAGES: Dict[str, MessageKind] = {}


def _by(sender: str) -> Callable[[M], M]:
    def declare(record: M) -> M:
        MESSAGES[record.kind] = MessageKind(sender, record)  # type: ignore[attr-defined]
        return record

    return declare


class SessionMessage:
    kind: ClassVar[str]


@frozen
class NamedMessage(SessionMessage):
    id: Id


@frozen
class StreamMessage(SessionMessage):
    stream: Stream


# ---- the session itself
@_by(AGENT)
@frozen
class Hello(SessionMessage):
    kind = "hello"

    protocol: Protocol
    agent_id: Id
    machine_id: Annotated[str, Text(1, 64)]
    boot_id: Annotated[str, Text(0, 64)] = ""
    hostname: Annotated[str, Text(1, 253)] = REQUIRED
    os: Annotated[str, Text(0, 255)] = ""
    version: Annotated[str, Text(1, 64)] = REQUIRED
    pid: Annotated[Optional[int], Between(1)] = None
    held: Annotated[Tuple[HeldCommand, ...], Most(5000)] = ()
    policy_version: Whole0 = 0
    time: Count = None  # what the host's clock shows
    capabilities: Annotated[Optional[Passed], OnWire(json_object(131072))] = None
    features: Features = ()


@_by(SERVER)
@frozen
class Welcome(SessionMessage):
    kind = "welcome"

    protocol: Protocol
    interval: Interval
    policy_version: Whole0 = 0
    time: Count = None
    protected_processes: Protected = None


@_by(SERVER)
@frozen
class Settings(SessionMessage):
    """What the configuration says to agents."""

    kind = "settings"

    interval: Interval
    protected_processes: Protected = None


@_by(BOTH)
@frozen
class Ping(NamedMessage):
    kind = "ping"


@_by(BOTH)
@frozen
class Pong(NamedMessage):
    kind = "pong"


@_by(BOTH)
@frozen
class Ack(NamedMessage):
    kind = "ack"

    of: Kind


@_by(BOTH)
@frozen
class Refuse(SessionMessage):
    kind = "refuse"

    id: Optional[Id] = None
    of: Kind = REQUIRED
    code: Annotated[str, Text(1, 64)] = REQUIRED
    message: Words = ""


# ---- what the agent says; what has an effect on the service is acknowledged
@_by(AGENT)
@frozen
class Report(NamedMessage):
    kind = "report"

    report: Annotated[HostReport, OnWire(check_report)]


@_by(AGENT)
@frozen
class Result(NamedMessage):
    kind = "result"

    result: Annotated[CommandResult, OnWire(check_result)]


@_by(AGENT)
@frozen
class OutcomeTold(NamedMessage):
    kind = "outcome"

    outcome: LocalOutcome


@_by(AGENT)
@frozen
class Started(SessionMessage):
    kind = "started"

    command_id: Id
    started_at: Annotated[float, Between(0)]


@_by(AGENT)
@frozen
class OutputTold(SessionMessage):
    kind = "output"

    command_id: Id
    seq: Whole0
    data: Line


@_by(AGENT)
@frozen
class Probed(NamedMessage):
    kind = "probed"

    outcome: Outcome = REQUIRED


# ---- what the server asks


@_by(SERVER)
@frozen
class Probe(NamedMessage):
    kind = "probe"

    target: Annotated[Passed, OnWire(nested(PROBE_TARGET))]


@_by(SERVER)
@frozen
class CommandTold(NamedMessage):
    kind = "command"

    command: CommandSent


@_by(SERVER)
@frozen
class CancelAsked(NamedMessage):
    kind = "cancel"


@frozen
class SignedPolicies:
    """The signature is over just this bundle; `policies.check_bundle` looks into it."""

    bundle: Annotated[Passed, OnWire(json_object(400000))]
    signature: Sha256


@_by(SERVER)
@frozen
class PoliciesTold(SignedPolicies, NamedMessage):
    kind = "policies"


# ---- streams: files, logs, metrics
@_by(SERVER)
@frozen
class Open(StreamMessage):
    kind = "open"

    opens: Annotated[str, SaidAs("kind"), Choice(*STREAM_KINDS)]
    params: SmallObject = field(default_factory=dict)


@_by(AGENT)
@frozen
class StreamOpened(StreamMessage):
    kind = "opened"

    size: Size = None
    mtime: Count = None
    offset: Whole0 = 0
    length: Size = None
    path: Path = None
    sha256: Optional[Sha256] = None


@_by(BOTH)
@frozen
class Credit(StreamMessage):
    kind = "credit"

    bytes: Annotated[int, Between(1, 2**31)]


@frozen
class LogLine:
    time: Count = None
    line: Line = REQUIRED
    place: Place = None

    @property
    def size(self) -> int:
        """What this takes of the window: a log's lines are counted in characters."""
        return len(self.line) + 1


@_by(AGENT)
@frozen
class Lines(StreamMessage):
    kind = "lines"

    lines: Annotated[Tuple[LogLine, ...], Most(1000)]


@_by(BOTH)
@frozen
class Finish(StreamMessage):
    kind = "finish"

    size: Whole0
    sha256: Sha256


@_by(AGENT)
@frozen
class StreamClosed(StreamMessage):
    kind = "closed"

    code: Annotated[str, Choice(*STREAM_ENDS)]
    message: Words = ""
    path: Path = None
    size: Size = None
    sha256: Optional[Sha256] = None


@_by(SERVER)
@frozen
class Close(StreamMessage):
    kind = "close"


# ---- what a poll is answered
@frozen
class PollAnswer:
    """An answer to a poll, without what an older agent does not know, or what is not news."""

    leaves_out_null: ClassVar[bool] = True

    interval: Annotated[float, Between(0), OnWire(number(0.05, 3600))]
    commands: Annotated[Tuple[CommandSent, ...], OnWire(listing(nested(checks_of(CommandSent)), 100))] = ()
    cancel: Annotated[Tuple[str, ...], OnWire(listing(text(64, low=1, pattern=r"[A-Za-z0-9_.:-]+"), 100))] = ()
    policy_version: Whole0 = 0
    time: Count = None
    protected_processes: Annotated[Optional[Tuple[str, ...]], OnWire(listing(text(255, low=1), 1000))] = None
    policies: Optional[SignedPolicies] = None  # when the report named an older policy_version
    status: Literal["ok"] = "ok"


_POLL_ANSWER = {**checks_of(PollAnswer), "status": need(choice("ok"))}


def read_poll_answer(value: Any) -> PollAnswer:
    return made(PollAnswer, record(value, _POLL_ANSWER, what="answer"))


def encode(message: SessionMessage) -> str:
    """Encode a message, checked on the way out too: a wrong one is our own mistake."""
    return framed(message.kind, plain(message))


def framed(kind: str, fields: Mapping[str, object]) -> str:
    clean = record(fields, MESSAGES[kind].fields, unknown="refuse", what=kind)
    shown = dumps({"type": kind, **{name: value for name, value in clean.items() if value is not None}})
    if len(shown) > MAX_TEXT_FRAME:
        raise WireError(f"{kind} is too large", "too_large")
    return shown.decode("utf-8")


def decode(frame: Any, sender: str) -> Any:
    """`sender` is "agent" or "server"; WireError for all that is not its valid message."""
    kind, fields = unframed(frame, sender)
    return made(MESSAGES[kind].of, fields)


def unframed(frame: Any, sender: str) -> Tuple[str, JsonObject]:
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
    return str(kind), record(value, message.fields, what=str(kind))
