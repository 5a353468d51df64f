"""The part of a page that shows a moment, and the page that has this part alone."""

from __future__ import annotations

from opsapp.ui import parts
from opsapp.ui.shapes import moment

from .shape import Page, PageBlock, Part, told

API = "/api/moment"
# What the script asks for: when the crosshair rests, and while the time goes on.
BLOCKS = tuple(PageBlock(name, (parts.MOMENT,), moment.shape) for name in ("moment-at", "moment-live"))


def of(kind: str, name: str = "{id}") -> Part:
    return told(parts.MOMENT, f"{API}?kind={kind}&id={name}", asks=moment.asked)


MOMENTS = (
    Page("/moment/{kind}/{id}", "Moment", (of("{kind}"),), template="moment.jinja2", shape=moment.page, blocks=BLOCKS),
)
