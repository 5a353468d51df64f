"""The commands that a host takes, each as a form: its fields are those of `wire.commands`. Must not: say what a value
must be; the API does."""

from __future__ import annotations

from opsapp.wire.commands import COMMANDS
from opsapp.wire.fields import WireField

from .shape import Act, Field

# type -> what the button says
OFFERED = {
    "shell": "Run a command",
    "service": "Control a service",
    "process_list": "List processes",
    "logs": "Read logs",
    "capabilities": "Refresh capabilities",
    "update": "Update the agent",
}
LABELS = {
    "command": "Command",
    "timeout": "Time limit (s)",
    "env": "Environment (JSON)",
    "descriptors": "Secrets by file descriptor (JSON)",
    "interpreter": "Interpreter",
    "service": "Service",
    "action": "What to do",
    "sort": "Sorted by",
    "limit": "How many",
    "source": "From",
    "unit": "Unit",
    "path": "File",
    "lines": "Lines",
    "version": "Version",
    "sha256": "SHA-256 of the program",
}
HINTS = {
    "interpreter": "Empty: /bin/sh reads it. Else the command is handed to this program as a file: python3",
    "unit": "Of the journal: nginx.service",
    "path": "Of a file: /var/log/app.log",
    "env": '{"LANG": "C"}',
    "descriptors": 'The variable has the number of the descriptor that the value is read from: {"TOKEN_FD": "…"}',
}
KINDS = {"integer": "number", "number": "number", "boolean": "flag", "object": "json"}
LEFT_OUT = ("role",)  # the service says it


def field_of(name: str, about: WireField) -> Field:
    told = about.describe()
    choices = tuple(str(choice) for choice in told.get("choices") or ())
    default = told["default"]
    return Field(
        f"params.{name}",
        LABELS.get(name, name.capitalize()),
        "choice" if choices else "script" if name == "command" else KINDS.get(told.get("type", ""), "text"),
        choices,
        bool(told["required"]),
        hint=HINTS.get(name, ""),
        preset="" if default in (None, {}) or isinstance(default, bool) else str(default),
        unsaid=("yes" if default else "no") if isinstance(default, bool) else "",
    )


def act_of(kind: str, label: str) -> Act:
    fields = tuple(field_of(name, about) for name, about in COMMANDS[kind].items() if name not in LEFT_OUT)
    return Act(
        kind,
        label,
        "POST /api/agents/{id}/commands",
        fields,
        body={"type": kind},
        goes="/agents/{id}/commands/{command_id}",
    )


COMMAND_ACTS = tuple(act_of(kind, label) for kind, label in OFFERED.items())
