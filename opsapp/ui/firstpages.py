"""Templates of the pages that are asked for first are compiled once a node has started, in a thread of its own. Must
not: delay the start, or compile what perhaps nobody opens (it costs memory)."""

from __future__ import annotations

from opsapp.runtime.node import Node

from . import pages, statuspage

FIRST = (
    "parts.jinja2",
    "base.jinja2",
    "sprite.jinja2",
    "login.jinja2",
    "overview.jinja2",
    "ask.jinja2",
    "hold_lines.jinja2",
)
PUBLIC_FIRST = ("status_parts.jinja2", "status_base.jinja2", "status_form.jinja2", "status.jinja2")


def start(node: Node) -> None:
    if "web" in node.roles:
        node.spawn(lambda: node.lane("first-pages", 1).run(compile_all))


def compile_all() -> None:
    for templates, names in ((pages.templates, FIRST), (statuspage.templates, PUBLIC_FIRST)):
        for name in names:
            templates.get_template(name)
