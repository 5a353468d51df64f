"""Assistants at work. Greenlet: `assistants-end` (rules of single actions that are over), under the lease `healing`."""

from __future__ import annotations

from .allowing import ProposalApproval, allowed, start
from .calls import admit, calls_of
from .deeds import FiringInShort, HoldsNow, PastInShort, ProposalOpened
from .proposals import ASKING, what_if
