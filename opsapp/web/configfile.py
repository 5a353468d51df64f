"""The YAML file: every room declares its sections, all are validated as one, mistakes are told with their lines.

`config.add_section("web.login", LoginSettings)`, a frozen dataclass (`lib.settings`), read as
`node.config[LoginSettings]`. `config.add_applier(fn)`: `fn(root, config)` brings the store in line, at start-up and at
a reload, all in one transaction.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from pyramid.config import Configurator
from pyramid.settings import asbool

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Problem
from opsapp.runtime import serieswork
from opsapp.runtime.config import Configuration, General
from opsapp.runtime.node import Node
from opsapp.runtime.store import pack
from opsapp.wire.kinds import DeclaredField, JsonKind, ListOf, MapOf, Object
from opsapp.wire.records import made, settings_in

from . import logs
from .config import LimitSettings, LogSettings, ServerSettings, WebSettings

Sections = dict[str, type]  # by dotted name; the one without a name has the keys outside of all sections

Lines = dict[tuple[str, ...], int]


class Mistake(NamedTuple):
    path: str
    line: int | None
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.path}: {self.message}" if self.line else f"{self.path}: {self.message}"


TOO_DEEP = Mistake("file", None, "is nested too deeply, or within itself")
TOO_MUCH = Mistake("file", None, "has aliases that stand for too many values")
SAID_BY_ALIASES = 100_000  # values more than the text has characters


class BadConfig(Problem):
    code = "bad_config"

    def __init__(self, source: str, mistakes: list[Mistake]):
        self.mistakes = mistakes
        super().__init__("\n".join(f"{source}: {mistake}" for mistake in mistakes))


def read(path: str | Path | None, known: Sections) -> Configuration:
    if path is None:
        return validate({}, {}, known, "defaults")
    source = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as problem:
        raise BadConfig(source, [Mistake("file", None, f"cannot be read: {problem.strerror}")]) from None
    except UnicodeDecodeError as problem:
        raise BadConfig(source, [Mistake("file", None, f"is not UTF-8: see byte {problem.start}")]) from None
    values, lines = parse(text, source)
    return validate(values, lines, known, source)


def parse(text: str, source: str) -> tuple[dict[str, Any], Lines]:
    import yaml  # with difflib below 1 MB, which a server without a file does not need

    try:
        loader = yaml.SafeLoader(text)
        top = loader.get_single_node()
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        reason = getattr(problem, "problem", None) or str(problem)
        raise BadConfig(source, [Mistake("file", mark and mark.line + 1, reason)]) from None
    except RecursionError:
        raise BadConfig(source, [TOO_DEEP]) from None
    if top is None:
        return {}, {}
    lines: Lines = {}
    mistakes: list[Mistake] = []
    loader.most_values = len(text) + SAID_BY_ALIASES  # type: ignore[attr-defined]
    loader.refusals = (yaml.YAMLError, ValueError)  # type: ignore[attr-defined]
    try:
        values = _plain(loader, top, (), lines, mistakes)
    except RecursionError:
        raise BadConfig(source, [TOO_DEEP]) from None
    except OverflowError:
        raise BadConfig(source, [TOO_MUCH]) from None
    if not isinstance(values, dict):
        mistakes.append(Mistake("file", 1, "must be a mapping of sections"))
    if mistakes:
        raise BadConfig(source, mistakes)
    return values, lines


def _plain(loader: Any, node: Any, path: tuple[str, ...], lines: Lines, mistakes: list[Mistake]) -> Any:
    lines[path] = node.start_mark.line + 1
    if len(lines) > loader.most_values:
        raise OverflowError
    if node.id == "mapping":
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.id != "scalar":
                mistakes.append(Mistake(".".join(path) or "file", line, "has a key that is not a string"))
                continue
            key = str(key_node.value)
            place = (*path, key)
            if key in values:
                mistakes.append(Mistake(".".join(place), line, "is given twice"))
            values[key] = _plain(loader, value_node, place, lines, mistakes)
            lines[place] = line
        return values
    if node.id == "sequence":
        return [_plain(loader, item, (*path, str(n)), lines, mistakes) for n, item in enumerate(node.value)]
    if node.tag == "tag:yaml.org,2002:timestamp":
        return node.value
    try:
        return loader.construct_object(node)
    except loader.refusals as problem:
        mistakes.append(Mistake(".".join(path), node.start_mark.line + 1, str(problem).splitlines()[0]))
        return None


def validate(given: JsonObject, lines: Lines, known: Sections, source: str) -> Configuration:
    wrong: dict[str, str] = {}
    schema = schema_of(known)
    values = schema.read(given, "", wrong)
    if not wrong:
        config = Configuration(made(kind, _below(values, name)) for name, kind in known.items())
        config = _with_one_address(config, wrong)
    if not wrong:
        return config
    mistakes = [_mistake(path, text, lines, schema) for path, text in wrong.items()]
    raise BadConfig(source, sorted(mistakes, key=lambda mistake: (mistake.line or 0, mistake.path)))


def _with_one_address(config: Configuration, wrong: dict[str, str]) -> Configuration:
    """`server.public_url` is another name of `web.base_url`; code reads that one alone."""
    web, public = config[WebSettings], config[ServerSettings].public_url
    if public and web.base_url and public.rstrip("/") != web.base_url.rstrip("/"):
        wrong["server.public_url"] = "is not what web.base_url says: one of the two is enough"
    return config.having(replace(web, base_url=public)) if public else config


def _below(values: JsonObject, name: str) -> JsonObject:
    for step in name.split(".") if name else ():
        values = values[step]
    return values


def schema_of(known: Sections, name: str = "") -> Object:
    """The section with all below it: `a.b` is within `a`. Every section may be left out."""
    stem = f"{name}." if name else ""
    inner = sorted({other.removeprefix(stem).partition(".")[0] for other in known if other and other.startswith(stem)})
    kinds = ((step, schema_of(known, stem + step)) for step in inner)
    below = (DeclaredField(step, kind, default=kind.default) for step, kind in kinds)
    section = known.get(name)
    return Object(section, [*(settings_in(section) if section else ()), *below])


def _mistake(path: str, text: str, lines: Lines, schema: Object) -> Mistake:
    steps = tuple(path.split("."))
    line = next((lines[steps[:n]] for n in range(len(steps), 0, -1) if steps[:n] in lines), None)
    if text == "is not known here":
        from difflib import get_close_matches

        near = get_close_matches(steps[-1], _known_keys(schema, steps[:-1]), n=1)
        text += f"; did you mean {near[0]!r}?" if near else ""
    return Mistake(path, line, text)


def _known_keys(kind: JsonKind | None, path: tuple[str, ...]) -> list[str]:
    for step in path:
        if isinstance(kind, ListOf | MapOf):
            kind = kind.item.kind
        else:
            kind = next((entry.kind for entry in getattr(kind, "entries", ()) if entry.name == step), None)
    return [entry.name for entry in getattr(kind, "entries", ())]


def load(registry: Any) -> None:
    """Bring the node and the store in line with the file: all or nothing."""
    config = read(registry.settings.get("opsapp.config"), registry.opsapp_sections)
    node: Node = registry["opsapp.node"]
    node.transact(_apply, registry.opsapp_appliers, config)
    node.config = config
    if asbool(registry.settings.get("opsapp.logs", "false")):
        logs.apply(config[LogSettings])
    node.wake("config")


def consult(registry: Any) -> None:
    """Let the node know the file, and change nothing in the store: a command may run without the server's file, whose
    declarations are not its to undo."""
    registry["opsapp.node"].config = read(registry.settings.get("opsapp.config"), registry.opsapp_sections)


def _apply(root: Any, appliers: list[Any], config: Configuration) -> None:
    for applier in appliers:
        applier(root, config)


def add_section(config: Configurator, name: str, section: type) -> None:
    """Directive: this room reads the section `name` (dotted for a nested one): a frozen dataclass."""
    if name in config.registry.opsapp_sections:
        raise ValueError(f"section {name!r} is declared twice")
    config.registry.opsapp_sections[name] = section


def add_applier(config: Configurator, fn: Any) -> None:
    """Directive: `fn(root, config)` writes what the file defines (rules, dependencies) into the store."""
    config.registry.opsapp_appliers.append(config.maybe_dotted(fn))


def includeme(config: Configurator) -> None:
    config.registry.opsapp_sections = {"": General}
    config.registry.opsapp_appliers = []
    config.add_directive("add_section", add_section)
    config.add_directive("add_applier", add_applier)
    config.add_section("server", ServerSettings)
    config.add_section("web", WebSettings)
    config.add_section("web.limits", LimitSettings)
    config.add_section("log", LogSettings)
    config.add_section("store.pack", pack.PackSettings)
    config.add_section("retention.series", serieswork.SeriesRetention)
