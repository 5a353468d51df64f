"""What each tool takes, as JSON Schema, from the API document and the declared bodies. Must not: be written by hand for
a tool."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from opsapp.assistants.inputs import TAKES
from opsapp.assistants.logic.tools import ASKS, MOST_ROWS, READS, ROWS, ReadTool
from opsapp.lib.jsontypes import JsonObject
from opsapp.web import openapi
from opsapp.web.declared import body_of
from opsapp.web.shapes import PLACE, Components

KEY = "opsapp.assistants.toolschemas"
CURSOR = {"type": "string", "description": "next_cursor of the answer before"}
LIMIT = {"type": "integer", "minimum": 1, "maximum": MOST_ROWS, "default": ROWS}


class ToolSchema(NamedTuple):
    description: str
    input: JsonObject


def of(registry: Any) -> dict[str, ToolSchema]:
    """By the tool's name; made once."""
    if KEY not in registry:
        registry[KEY] = _made(openapi.document(registry))
    known: dict[str, ToolSchema] = registry[KEY]
    return known


def _made(document: JsonObject) -> dict[str, ToolSchema]:
    asking = {tool.name: ToolSchema(tool.about, _asking(TAKES[tool.name])) for tool in ASKS}
    return {tool.name: _reading(tool, document) for tool in READS} | asking


def _asking(record: Any) -> JsonObject:
    """The body with all that it refers to."""
    components, schema = Components(), body_of(record)
    components.body(schema)
    shapes = _within(components.schemas)
    own = shapes.pop(schema.__name__)
    return own | ({"$defs": shapes} if shapes else {})


def _within(value: Any) -> Any:
    if isinstance(value, list):
        return [_within(part) for part in value]
    if not isinstance(value, dict):
        return value
    moved = {name: _within(part) for name, part in value.items()}
    place = moved.get("$ref")
    return moved | {"$ref": place.replace(PLACE, "#/$defs/")} if isinstance(place, str) else moved


def _reading(tool: ReadTool, document: JsonObject) -> ToolSchema:
    paths: Any = document["paths"]
    properties: JsonObject = {}
    required: list[str] = []
    words: list[str] = []
    for _, path in tool.parts:
        place, _, fixed = path.partition("?")
        names = re.findall(r"{([a-z_]+)}", path)
        required += [name for name in names if name not in required]
        told = paths[place]["get"]
        words += [] if tool.about and len(tool.parts) > 1 else [told["summary"]]
        properties |= {name: {"type": "string"} for name in names if name not in properties}
        given = [entry for entry in told["parameters"] if entry.get("in") == "query" and not fixed]
        properties |= {entry["name"]: entry["schema"] for entry in given}
        required += [entry["name"] for entry in given if entry.get("required") and entry["name"] not in required]
    if "limit" in properties:
        properties.pop("offset")
        properties |= {"limit": LIMIT, "cursor": CURSOR}
    shape: JsonObject = {"type": "object", "properties": properties, "additionalProperties": False}
    description = " ".join(part for part in (*words, tool.about) if part)
    return ToolSchema(description, shape | ({"required": required} if required else {}))
