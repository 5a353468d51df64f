"""What a room above tells the assistants' room."""

from __future__ import annotations

from typing import NamedTuple

from zope.interface import Interface


class GuideText(NamedTuple):
    name: str
    title: str
    about: str
    markdown: str


class IGuide(Interface):
    """Utility, `fn()`: the pages of the guide by name, in reading order."""
