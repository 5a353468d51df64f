"""The templates' environment, and elements made of a pattern and values. `Markup.format` is a formatter written in
Python, which was a fifth of what a list cost."""

from __future__ import annotations

from collections.abc import Iterable

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

_NUMBERS = (int, float)


def markup(pattern: str, *values: object) -> Markup:
    """Each value is escaped, unless it is markup or a number. The pattern is code: nothing that anybody typed may be in
    it."""
    return Markup(pattern.format(*(value if isinstance(value, _NUMBERS) else escape(value) for value in values)))


def joined(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


def environment() -> Environment:
    """Templates have no filters of their own; a name that they do not know is a mistake."""
    return Environment(
        loader=PackageLoader("opsapp.ui", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
