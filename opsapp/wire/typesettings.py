"""The settings that only some types of monitors have, one declared record for each type (`wire.records`). From it come
the API's schema, the form, the checks, the message to agents and the value that a probe gets.

Must not: know the types (`monitortypes`), or look at anything.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Optional, Tuple

from .jsonpath import parse_path
from .kinds import Anything, CheckedBy, Choice, Text
from .records import Between, FormField, Most

COMPARISONS = ("==", "!=", ">", ">=", "<", "<=", "contains")
LONGEST_GRACE = 31 * 86400
LARGEST = 4000  # characters
MOST_LINES = 100
_COMMAND_EXAMPLE = "/usr/lib/nagios/plugins/check_load"
_LINES = "The program's whole path, then each argument on a line of its own. No shell reads them."


class ForAdmins(NamedTuple):
    """A mark: only admins write it."""


def _path_problem(path: str) -> Optional[str]:
    try:
        parse_path(path)
    except ValueError as problem:
        return str(problem)
    return None


def _size_problem(value: Any) -> Optional[str]:
    return "is too large" if len(json.dumps(value)) > LARGEST else None


def _command_problem(command: Tuple[str, ...]) -> Optional[str]:
    if not command[0].startswith("/"):
        return f"must begin with the whole path of the program, as in {_COMMAND_EXAMPLE}"
    return "is too long" if sum(map(len, command)) > LARGEST else None


ExpectedValue = Annotated[
    Any,
    Anything(),
    CheckedBy(_size_problem),
    FormField("Expected value", "json", 'For example 200, true or "ok"', clears=True),
]


@dataclass(frozen=True)
class TypeSettings:
    """Those of most types: none."""


@dataclass(frozen=True)
class DnsSettings(TypeSettings):
    expected_value: ExpectedValue = None


@dataclass(frozen=True)
class KeywordSettings(TypeSettings):
    keyword: Annotated[str, Text(1, 1000), FormField("Keyword")]
    keyword_absent: Annotated[bool, FormField("Up when the keyword is missing", "flag", clears=True)] = False


@dataclass(frozen=True)
class JsonSettings(TypeSettings):
    json_path: Annotated[
        str, Text(1, 500), CheckedBy(_path_problem), FormField("JSON path", hint="For example $.status")
    ]
    expected_value: ExpectedValue
    comparison: Annotated[
        str, Choice(*COMPARISONS), FormField("The value at the path is", "choice", unsaid="as usual")
    ] = COMPARISONS[0]


@dataclass(frozen=True)
class PushSettings(TypeSettings):
    """`schedule`: when a call is due, instead of the interval, by the clock of `schedule_zone`."""

    schedule: Annotated[
        Optional[str],
        Text(1, 200),
        FormField("Due by a schedule", "schedule", "Instead of the interval", clears=True, unsaid="By the interval"),
    ] = None
    schedule_zone: Annotated[
        Optional[str], Text(1, 64), FormField("Zone of the schedule", hint="Empty: the service's", clears=True)
    ] = None
    grace: Annotated[
        int, Between(0, LONGEST_GRACE), FormField("Grace", "duration", "How late a run may be, and how long")
    ] = 0


@dataclass(frozen=True)
class PluginSettings(TypeSettings):
    command: Annotated[
        Tuple[Annotated[str, Text(0, 1000)], ...],
        Most(MOST_LINES, least=1),
        CheckedBy(_command_problem),
        FormField("Command", "lines", _LINES),
        ForAdmins(),
    ]
