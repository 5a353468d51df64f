"""How this installation stands, for admins: what is configured, and what is wrong around it.

Must not: show a secret of the configuration, or change anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sized
from dataclasses import fields, is_dataclass
from typing import Any

from pyramid.registry import Registry
from pyramid.request import Request

from opsapp.lib.addresses import HIDDEN, public_text
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Problem
from opsapp.runtime import findings
from opsapp.runtime.findings import FAIL, Finding, IFinder
from opsapp.tree.folder import Facet, add_facet
from opsapp.tree.root import Api

from . import api
from .answers import Deferred
from .fields import Body, choice, flag, list_of, text

SECRETS = ("secret", "token", "password")


class SettingsFacet(Facet):
    """What is configured."""


class DoctorFacet(Facet):
    """What is wrong around the service."""


add_facet(Api, "settings", SettingsFacet)
add_facet(Api, "doctor", DoctorFacet)


class SettingShown(Body):
    name = text()
    value = text(0, 10_000)
    usual = text(0, 10_000)
    changed = flag()


class SettingsShown(Body):
    from_file = flag()
    settings = list_of(SettingShown)


class FindingShown(Body):
    level = choice("ok", "warn", "fail")
    what = text()
    said = text()


class Findings(Body):
    findings = list_of(FindingShown)


@api.get(SettingsFacet, role="admin", returns=SettingsShown)
def settings(context: SettingsFacet, request: Request) -> JsonObject:
    """Every key of the configuration with its value and the usual one, as texts; secrets are `***`. The YAML file
    changes them."""
    return {
        "from_file": bool(request.registry.settings.get("opsapp.config")),
        "settings": list(rows_of(request.registry)),
    }


def rows_of(registry: Registry) -> Iterator[JsonObject]:
    config = registry["opsapp.node"].config
    for name, section in sorted(registry.opsapp_sections.items()):
        usual = section()
        yield from _rows(name, config[section], usual)


def _rows(name: str, section: Any, usual: Any) -> Iterator[JsonObject]:
    for declared in fields(section):
        path = f"{name}.{declared.name}" if name else declared.name
        value, default = getattr(section, declared.name), getattr(usual, declared.name)
        if is_dataclass(value):
            yield from _rows(path, value, default)
        else:
            shown = [_shown(declared.name, given) for given in (value, default)]
            yield {"name": path, "value": shown[0], "usual": shown[1], "changed": value != default}


def _shown(name: str, value: Any) -> str:
    """In words: what is a thing of its own (a rule, a channel) is only counted."""
    if value is None:
        return ""
    if any(word in name for word in SECRETS) and isinstance(value, str):
        return HIDDEN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple | frozenset):
        plain = all(isinstance(part, str | int | float) for part in value)
        return ", ".join(_shown("", part) for part in value) if plain else _counted(value)
    if isinstance(value, dict):
        return _counted(value)
    return f"{value:g}" if isinstance(value, float) else public_text(str(value))


def _counted(value: Sized) -> str:
    return "1 entry" if len(value) == 1 else f"{len(value)} entries"


@api.get(DoctorFacet, role="admin", returns=Findings)
def doctor(context: DoctorFacet, request: Request) -> Deferred:
    """What is wrong with the machine and the files around the running service, and what will be deleted soon that is in
    no archive; `opsapp doctor` looks for damage in a stopped one's store too."""
    registry = request.registry

    def look() -> Any:
        findings = [finding._replace(level=finding.level.lower())._asdict() for finding in findings_of(registry)]
        return 200, {}, {"findings": findings}

    return Deferred(look)


def findings_of(registry: Registry) -> Iterator[Finding]:
    settings, node = registry.settings, registry["opsapp.node"]
    config = node.config
    yield findings.files_limit()
    yield from findings.clock(node)
    for what, look in (("data", findings.data), ("master key", findings.master_key)):
        try:
            yield from look(settings)
        except (Problem, OSError, ValueError) as problem:
            yield Finding(FAIL, what, str(problem))
    for _, finder in sorted(registry.getUtilitiesFor(IFinder)):
        yield finder(config)
    yield from node.transact(lambda root: findings.stored(registry, root, node.clock.now(), config))
