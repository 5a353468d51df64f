"""The table of causes: why something on a host is as it is. The agent finds them; the service has from the same rows
their sentence, and which steps are in vain while they hold.

Words that come from outputs are never part of a sentence: they are evidence, which not everybody may see.
Must not: look at anything.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Dict, FrozenSet, Mapping, NamedTuple, Optional, Tuple, TypedDict

from .checks import checks_of
from .dataclass import frozen
from .fields import WireError, choice, mapping, may, need, record, text
from .kinds import Text
from .readings import CLOCK_OFF, split
from .records import made

LOOKS = "@causes"  # what an agent that can look for causes has among its tools
LOOK_S = 2.0  # so long an agent looks at most
MOST_LINES, MOST_LENGTH = 20, 400  # of evidence
# These do whatever people have written into them: no cause rules them out.
ANYTHING = frozenset({"run", "agent_command", "automation", "run_playbook", "webhook"})
_FIELD = text(200)
_OF_A_MOUNT, _OF_THE_ROOT = ("disk", "inodes"), re.compile(r"\b(?:disk|inode)_percent\b")


@frozen
class LookSubject:
    service: Annotated[Optional[str], Text(1, 255)] = None
    mount: Annotated[Optional[str], Text(1, 4096)] = None
    domain: Annotated[Optional[str], Text(1, 253)] = None
    clock: Optional[bool] = None

    @classmethod
    def read(cls, values: Any) -> LookSubject:
        return made(cls, record(values, _SUBJECT, what="what is looked at"))


_SUBJECT = checks_of(LookSubject)


class CauseKind(NamedTuple):
    """`sentence` names its fields in braces; `helped_by`: the only actions not in vain where `no_step_helps`."""

    id: str
    sentence: str
    by_hand: str
    no_step_helps: bool = False
    helped_by: FrozenSet[str] = frozenset()

    @property
    def fields(self) -> Tuple[str, ...]:
        return tuple(re.findall(r"\{(\w+)\}", self.sentence))

    def in_vain(self, action: str) -> bool:
        return self.no_step_helps and action not in ANYTHING and action not in self.helped_by


class ToldCause(TypedDict):
    id: str
    fields: Dict[str, str]


class HostCause(NamedTuple):
    """`evidence` may come from outputs."""

    id: str
    fields: Mapping[str, str]
    evidence: Tuple[str, ...] = ()

    @property
    def kind(self) -> CauseKind:
        return CAUSES[self.id]

    @property
    def sentence(self) -> str:
        return self.kind.sentence.format(**self.fields)

    def told(self) -> ToldCause:
        """The evidence goes with the output."""
        return ToldCause(id=self.id, fields={name: value[:200] for name, value in self.fields.items()})


def cause_of(cause_id: str, *evidence: str, **fields: object) -> HostCause:
    lines = tuple(_printable(line).strip()[:MOST_LENGTH] for line in evidence if line.strip())
    return HostCause(cause_id, {name: _printable(str(value)) for name, value in fields.items()}, lines[-MOST_LINES:])


def _printable(said: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in said)


def read(told: Any, output: str = "") -> Optional[HostCause]:
    """Read a cause; None: nothing was found, or a newer agent says what is not in the table here."""
    if not isinstance(told, Mapping):
        return None
    try:
        clean = record(told, {"id": need(choice(*CAUSES)), "fields": may(mapping(_FIELD, 20), {})}, what="cause")
    except WireError:
        return None
    cause = cause_of(clean["id"], *output.splitlines(), **clean["fields"])
    return cause if set(cause.kind.fields) <= cause.fields.keys() else None


def subject_of(condition: str, params: Mapping[str, Any]) -> LookSubject:
    """The parameters of the steps name it, else the condition does."""
    keys = [split(key) for key in re.findall(r"[\w.@:/*-]+", condition) if "." in key]
    about = {family: name for family, name, _ in keys if name not in ("", "*")}
    named = {name: params[name] for name in _SUBJECT if isinstance(params.get(name), str)}
    if "service" in about:
        named.setdefault("service", about["service"])
    mounts = [about[family] for family in _OF_A_MOUNT if family in about]
    if mounts or _OF_THE_ROOT.search(condition):
        named.setdefault("mount", mounts[0] if mounts else "/")
    return LookSubject(**named, clock=True if CLOCK_OFF in condition else None)


def _table(*rows: CauseKind) -> Dict[str, CauseKind]:
    return {row.id: row for row in rows}


CAUSES: Dict[str, CauseKind] = _table(
    CauseKind(
        "masked",
        "{service} is masked: nothing can start it until somebody unmasks it",
        "Ask who masked it, and unmask it (systemctl unmask) if it shall run.",
        no_step_helps=True,
    ),
    CauseKind(
        "unit_missing",
        "{service} is not installed: the service manager knows no such unit",
        "Install it again, or remove the rule.",
        no_step_helps=True,
    ),
    CauseKind(
        "binary_missing",
        "the program of {service} is gone: {path} does not exist",
        "Install the package again.",
        no_step_helps=True,
    ),
    CauseKind(
        "config_broken",
        "the configuration of {service} does not pass its own test ({test})",
        "Mend the configuration; the test names the line.",
        no_step_helps=True,
    ),
    CauseKind(
        "read_only",
        "{mount} is mounted read-only, and nothing can write there",
        "Look for errors of the disk in the kernel's log, check the file system, and mount it again.",
        no_step_helps=True,
        helped_by=frozenset({"fsck_schedule", "host_reboot", "vm_restart", "vm_migrate", "snapshot_rollback"}),
    ),
    CauseKind(
        "certificate_expired",
        "the certificate of {domain} ended on {ended}",
        "Renew the certificate.",
        no_step_helps=True,
        helped_by=frozenset({"cert_renew"}),
    ),
    CauseKind(
        "port_held",
        "port {port} is held by another process: {process} (pid {pid})",
        "Stop that process, or give one of the two another port.",
    ),
    CauseKind(
        "stale_pid_file",
        "the pid file of {service} is stale: {path} names pid {pid}, which is not its process",
        "Remove the file.",
    ),
    CauseKind(
        "out_of_own_memory",
        "{service} was killed for memory: it reached its own limit of {limit}",
        "Look what takes the memory, or raise the limit of the unit.",
    ),
    CauseKind(
        "out_of_host_memory",
        "{service} was killed for memory: the host had none left",
        "Look what takes the host's memory.",
    ),
    CauseKind(
        "disk_full",
        "{mount} is {percent} % full: the most is in {largest}",
        "Remove what is not needed, or enlarge it.",
    ),
    CauseKind(
        "disk_held",
        "{mount} is {percent} % full: {size} are in deleted files that {process} (pid {pid}) holds open",
        "Restart that process: its deleted files are freed then.",
    ),
    CauseKind(
        "inodes_full",
        "{mount} has used {percent} % of its inodes: the most files are in {largest}",
        "Remove the small files there.",
    ),
    CauseKind(
        "name_not_resolved", "the name {name} cannot be resolved on the host", "Look at the host's name servers."
    ),
    CauseKind(
        "clock_off",
        "the host's clock is not synchronised, and {service} refuses dates",
        "Let the host synchronise its clock.",
    ),
    CauseKind(
        "clock_apart",
        "the host's clock is {seconds} s {side} that of the service, and {synchronised}",
        "Let the host synchronise its clock. If many hosts say so, look at the clock of the service.",
    ),
    CauseKind(
        "not_startable",
        "{service} could not be started: {reason}",
        "The last lines of the unit say more; correct the unit, or make what it names.",
    ),
    CauseKind("ended_by_signal", "{service} was ended by signal {signal}", "The last lines of the unit say more."),
    CauseKind("exited", "{service} ended with exit code {code}", "The last lines of the unit say why."),
)
