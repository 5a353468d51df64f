"""What a room above tells the assistants' room."""

from __future__ import annotations

from typing import NamedTuple

from zope.interface import Interface


class GuideText(NamedTuple):
    """A page of the guide, as it was written."""

    name: str
    title: str
    about: str
    markdown: str


class IGuide(Interface):
    """Utility, `fn()`: the pages of the guide by name, in the order in which one reads them."""
