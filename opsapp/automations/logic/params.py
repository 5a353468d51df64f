"""What an automation of each type is told, and what follows from it: where it is carried out, and what program it has.
Types that are made of other automations are in `workflow`.

Must not: know settings that all types have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

from opsapp.lib.visible import name_kind
from opsapp.wire.commands import DESCRIPTORS
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Anything, CheckedBy, Choice, DeclaredField, MapOf, Text
from opsapp.wire.records import Between, FormField, Most
from opsapp.wire.urls import text_problem, web_problem

from . import references, shelltext

ID = Text(1, 64)
SERVICE_ACTIONS = ("start", "stop", "restart", "reload", "enable", "disable", "status")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
SEVERITIES = ("info", "warning", "critical")
TARGETS = ("agent_id", "hostname", "tag")


def _map(value: Text, high: int, name: Text) -> MapOf:
    return MapOf(DeclaredField("", value), high, name)


VARIABLE = Text(1, 128, r"[A-Za-z_][A-Za-z0-9_]*", "a word like PATH")
ENVIRONMENT = _map(Text(0, 20_000), 64, VARIABLE)
BY_DESCRIPTOR = _map(Text(0, 20_000), DESCRIPTORS, VARIABLE)
HEADERS = _map(Text(0, 8000), 50, Text(1, 200, r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", "X-Name"))


def _address_problem(url: str) -> str | None:
    """What stands in the place of a secret or an input is known only when it is called."""
    form = references.with_a_word(url)
    return text_problem(form) if references.begins_with_a_secret(url) else web_problem(form)


class Script(NamedTuple):
    """`shell`: the shell that reads it, None when it is no shell."""

    field: str
    text: str
    shell: str | None


class Params:
    """Parameters of any type. `place` says who carries it out: `here` (a node), `agents`, `inside` (nobody: it is made
    of other runs, or of a message)."""

    leaves_out_null: ClassVar[bool] = True

    @property
    def place(self) -> str:
        return "inside"

    @property
    def children(self) -> tuple[str, ...]:
        """Ids of the automations that it is made of."""
        return ()

    @property
    def program(self) -> Script | None:
        return None

    def with_children(self, ids: Iterable[str]) -> Params:
        """The same with other automations in the place of those."""
        return self


@frozen
class Targeted(Params):
    """Says on which hosts it runs. Where none is named it runs on a node of this service."""

    agent_id: Annotated[
        str | None, ID, FormField("On this host, whatever it is called", "name", of="host", unsaid="none")
    ] = None
    hostname: Annotated[
        str | None, Text(1, 255), FormField("On the host", "name", of="host", by="hostname", unsaid="none", clears=True)
    ] = None
    tag: Annotated[
        str | None, Text(1, 64), FormField("On all with the tag", "name", of="tag", by="name", unsaid="none")
    ] = None

    @property
    def targets(self) -> dict[str, str]:
        given = ((name, getattr(self, name)) for name in TARGETS)
        return {name: value for name, value in given if value}

    @property
    def place(self) -> str:
        return "agents" if self.targets else "here"


@frozen(kw_only=True)
class ProgramParams(Targeted):
    """`descriptors`: what the program reads from a sealed descriptor, whose number its environment has instead."""

    descriptors: Annotated[
        dict[str, str] | None,
        BY_DESCRIPTOR,
        FormField(
            "Secrets by file descriptor (JSON)",
            "json",
            '{"TOKEN_FD": "{{secret:name}}"}: the script reads it with cat /dev/fd/$TOKEN_FD',
        ),
    ] = None


@frozen(kw_only=True)
class ScriptParams(ProgramParams):
    script: Annotated[str, Text(1, 65_000), FormField("Script", "script")]
    interpreter: Annotated[
        str | None,
        Text(1, 255, r"[A-Za-z0-9/._+-]+", "/bin/bash or python3"),
        FormField("Interpreter", hint="/bin/bash or python3. Empty: /bin/sh"),
    ] = None
    env: Annotated[dict[str, str] | None, ENVIRONMENT, FormField("Environment (JSON)", "json", '{"LANG": "C"}')] = None

    @staticmethod
    def across(sound: Mapping[str, Any]) -> dict[str, str]:
        twice = sorted(set(sound.get("env") or ()) & set(sound.get("descriptors") or ()))
        return {"descriptors": f"already in env: {', '.join(twice)}"} if twice else {}

    @property
    def program(self) -> Script:
        interpreter = self.interpreter
        if self.place == "agents":  # an agent does not look at the first line
            interpreter = interpreter or shelltext.DEFAULT_SHELL
        return Script("script", self.script, shelltext.shell_of(interpreter, self.script))


@frozen(kw_only=True)
class ServiceParams(Targeted):
    service: Annotated[
        str, Text(1, 255, r"[A-Za-z0-9_@.:\\][A-Za-z0-9_@.:\\-]*", "nginx"), FormField("Service", hint="nginx")
    ]
    action: Annotated[str, Choice(*SERVICE_ACTIONS), FormField("What to do", "choice")]


@frozen(kw_only=True)
class AgentCommandParams(ProgramParams):
    command: Annotated[str, Text(1, 65_000), FormField("Command", "script")]
    timeout: Annotated[int | None, Between(1, 3600), FormField("Time limit of the command", "duration")] = None

    @property
    def place(self) -> str:
        return "agents"

    @property
    def program(self) -> Script:
        return Script("command", self.command, shelltext.DEFAULT_SHELL)


@frozen
class WebhookParams(Params):
    url: Annotated[
        str,
        Text(1, 4000),
        CheckedBy(_address_problem),
        FormField("Address", hint="https://… It may hold {{secret:name}}."),
    ]
    method: Annotated[str, Choice(*METHODS), FormField("Method", "choice", unsaid="as usual")] = "POST"
    headers: Annotated[dict[str, str] | None, HEADERS, FormField("Headers (JSON)", "json", '{"X-Name": "value"}')] = (
        None
    )
    body: Annotated[Any, Anything(), FormField("Body (JSON)", "json")] = None

    @property
    def place(self) -> str:
        return "here"


@frozen(kw_only=True)
class NotificationParams(Params):
    channels: Annotated[
        tuple[Annotated[str, Text(1, 200)], ...],
        Most(50, unique=True),
        FormField(
            "Channels", "names", "Names with commas. Empty: all that take it.", of="channel", by="name", clears=True
        ),
    ] = ()
    severity: Annotated[str, Choice(*SEVERITIES), FormField("Severity", "choice", unsaid="as usual")] = "info"
    title: Annotated[str, name_kind(), FormField("Title")]
    message: Annotated[str, Text(0, 10_000), FormField("Message", "area")] = ""
