"""The moment: the part that pages have, and the page that is nothing else."""

from __future__ import annotations

from opsapp.ui.shapes import moment

from .shape import Page, PageBlock, Part

API = "/api/moment"
AT = PageBlock("moment-at", ("moment",), moment.shape)  # what the script asks for when the crosshair rests


def of(kind: str, name: str = "{id}") -> Part:
    return Part("", f"{API}?kind={kind}&id={name}", (), name="moment", hidden=True, asks=moment.asked)


MOMENTS = (
    Page("/moment/{kind}/{id}", "Moment", (of("{kind}"),), template="moment.jinja2", shape=moment.page, blocks=(AT,)),
)
