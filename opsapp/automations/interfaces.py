"""What rooms above tell the automations room."""

from __future__ import annotations

from zope.interface import Interface


class IAutomationEdited(Interface):
    """Utility, `fn(root, automation_id, now)`: an automation does something else now. In the edit's transaction."""
