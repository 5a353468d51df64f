"""How this installation stands, for admins: what is configured, what is wrong around it. Must not: show a secret."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from dataclasses import fields, is_dataclass
from typing import Any

from pyramid.registry import Registry
from pyramid.request import Request

from opsapp.lib.addresses import HIDDEN, public_text
from opsapp.lib.problems import Problem
from opsapp.runtime import findings
from opsapp.runtime.findings import FAIL, Finding, IFinder
from opsapp.tree.folder import Facet, add_facet
from opsapp.tree.root import Api
from opsapp.wire.records import made

from . import api
from .answers import Deferred, later
from .records import Findings, FindingShown, SettingShown, SettingsShown

SECRETS = ("secret", "token", "password")


class SettingsFacet(Facet):
    """What is configured."""


class DoctorFacet(Facet):
    """What is wrong around the service."""


add_facet(Api, "settings", SettingsFacet)
add_facet(Api, "doctor", DoctorFacet)


@api.get(SettingsFacet, role="admin", returns=SettingsShown)
def settings(context: SettingsFacet, request: Request) -> SettingsShown:
    """Every key of the configuration with its value and the usual one, as texts; secrets are `***`. The YAML file
    changes them."""
    from_file = bool(request.registry.settings.get("opsapp.config"))
    return SettingsShown(from_file, tuple(rows_of(request.registry)))


def rows_of(registry: Registry) -> Iterator[SettingShown]:
    config = registry["opsapp.node"].config
    for name, section in sorted(registry.opsapp_sections.items()):
        usual = section()
        yield from _rows(name, config[section], usual)


def _rows(name: str, section: Any, usual: Any) -> Iterator[SettingShown]:
    for declared in fields(section):
        path = f"{name}.{declared.name}" if name else declared.name
        value, default = getattr(section, declared.name), getattr(usual, declared.name)
        if is_dataclass(value):
            yield from _rows(path, value, default)
        else:
            shown, usual_shown = _shown(declared.name, value), _shown(declared.name, default)
            yield SettingShown(path, shown, usual_shown, value != default)


def _shown(name: str, value: Any) -> str:
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

    def look() -> Findings:
        rows = [made(FindingShown, {**row._asdict(), "level": row.level.lower()}) for row in findings_of(registry)]
        return Findings(tuple(rows))

    return later(look)


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
