"""Where healing hangs in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opsapp.tree.places import ApiPlace

if TYPE_CHECKING:
    from .resources import Healing

healing_of: ApiPlace[Healing] = ApiPlace("healing")
