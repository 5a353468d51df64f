"""The settings that only some types of monitors have, one declared record for each type (`wire.records`).

Must not: know the types (`monitortypes`), or look at anything.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Dict, NamedTuple, Optional, Tuple

from .dataclass import frozen
from .jsonpath import parse_path
from .kinds import Anything, CheckedBy, Choice, Text
from .records import Between, FormField, IfSaid, Most, Sealed

COMPARISONS = ("==", "!=", ">", ">=", "<", "<=", "contains")
NOT_USED = "none"
UNUSED = (None, NOT_USED)
SNMP_VERSIONS = ("2c", "3")
SNMP_AUTHS = (NOT_USED, "md5", "sha", "sha224", "sha256", "sha384", "sha512")
SNMP_PRIVACIES = (NOT_USED, "des", "aes")
SHORTEST_PASSWORD = 8  # RFC 3414; agents refuse shorter ones
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


def _oid_problem(oid: str) -> Optional[str]:
    first, second, *rest = map(int, oid.strip(".").split("."))
    if (first < 2 and second > 39) or max(second, *rest, 0) >= 1 << 32:
        return "is no object identifier: a number in it is too large"
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
Comparison = Annotated[str, Choice(*COMPARISONS), FormField("The value is", "choice", unsaid="as usual")]


@frozen
class TypeSettings:
    """Those of most types: none."""

    def problems(self) -> Dict[str, str]:
        """What does not fit together among them, by field."""
        return {}


@frozen
class DnsSettings(TypeSettings):
    expected_value: ExpectedValue = None


@frozen
class KeywordSettings(TypeSettings):
    keyword: Annotated[str, Text(1, 1000), FormField("Keyword")]
    keyword_absent: Annotated[bool, FormField("Up when the keyword is missing", "flag", clears=True)] = False


@frozen
class JsonSettings(TypeSettings):
    json_path: Annotated[
        str, Text(1, 500), CheckedBy(_path_problem), FormField("JSON path", hint="For example $.status")
    ]
    expected_value: ExpectedValue
    comparison: Comparison = COMPARISONS[0]


@frozen
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


@frozen
class PluginSettings(TypeSettings):
    command: Annotated[
        Tuple[Annotated[str, Text(0, 1000)], ...],
        Most(MOST_LINES, least=1),
        CheckedBy(_command_problem),
        FormField("Command", "lines", _LINES),
        ForAdmins(),
    ]


@frozen
class SnmpSettings(TypeSettings):
    """Monitors of other types have none of it in answers and in the store: lists have thousands of them."""

    snmp_oid: Annotated[
        str,
        Text(3, 500, r"\.?[0-2](\.\d{1,10}){1,127}", "1.3.6.1.2.1.1.3.0"),
        CheckedBy(_oid_problem),
        FormField("OID", hint="Whole and in numbers: 1.3.6.1.2.1.1.3.0"),
    ]
    snmp_version: Annotated[
        Optional[str], Choice(*SNMP_VERSIONS), IfSaid(), FormField("SNMP version", "choice", unsaid="2c, as usual")
    ] = None
    snmp_community: Annotated[
        Optional[str], Text(0, 200), Sealed(), IfSaid(), FormField("Community", "password", "Of version 2c.")
    ] = None
    snmp_user: Annotated[
        Optional[str], Text(0, 32), IfSaid(), FormField("SNMP user", hint="Of version 3.", clears=True)
    ] = None
    snmp_auth: Annotated[
        Optional[str], Choice(*SNMP_AUTHS), IfSaid(), FormField("Authentication", "choice", unsaid="none, as usual")
    ] = None
    snmp_auth_password: Annotated[
        Optional[str], Text(0, 200), Sealed(), IfSaid(), FormField("Password for authentication", "password")
    ] = None
    snmp_privacy: Annotated[
        Optional[str], Choice(*SNMP_PRIVACIES), IfSaid(), FormField("Encryption", "choice", unsaid="none, as usual")
    ] = None
    snmp_privacy_password: Annotated[
        Optional[str], Text(0, 200), Sealed(), IfSaid(), FormField("Password for encryption", "password")
    ] = None
    expected_value: ExpectedValue = None
    comparison: Comparison = COMPARISONS[0]

    def problems(self) -> Dict[str, str]:
        if self.snmp_version != "3":
            return {} if self.snmp_community else {"snmp_community": "is required for version 2c"}
        wrong = {} if self.snmp_user else {"snmp_user": "is required for version 3"}
        for method, password in (("snmp_auth", "snmp_auth_password"), ("snmp_privacy", "snmp_privacy_password")):
            if getattr(self, method) not in UNUSED and len(getattr(self, password) or "") < SHORTEST_PASSWORD:
                wrong[password] = f"needs {SHORTEST_PASSWORD} characters or more"
        if self.snmp_privacy not in UNUSED and self.snmp_auth in UNUSED:
            wrong["snmp_auth"] = "is required with encryption"
        return wrong
