"""Where automations and secrets hang in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opsapp.tree.places import ApiPlace

if TYPE_CHECKING:
    from . import Automations, Secrets

automations_of: ApiPlace[Automations] = ApiPlace("automations")
secrets_of: ApiPlace[Secrets] = ApiPlace("secrets")
