"""Trust states, signed with the key of the store's chains and checked before they count.

Whoever edits the store without the key cannot raise a level: what is not as signed lets no rule act. A mark beside each
state shows an older one that was put back. Must not: decide what follows, or tell people.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opsapp.healing.logic.levels import LEVELS, rank
from opsapp.healing.places import healing_of
from opsapp.healing.stages.trust import Trust
from opsapp.lib import chains
from opsapp.lib.problems import Conflict
from opsapp.runtime.secrets import chainkey
from opsapp.runtime.secrets.seals import no_key
from opsapp.tree.folder import Record
from opsapp.tree.root import KEY, Root

TRUST = "trust of a rule"  # what people call it


class SignedTrust(Record):
    """The signature covers the rule's id."""

    signature: str | None = None
    _v_sound: Trust | None = None  # the trust that was checked last

    def __init__(self, trust: Trust):
        self.trust = trust

    def __getstate__(self) -> Any:
        """Signed by a node that has the key; without it the old signature stays, and no longer fits."""
        state = super().__getstate__()
        if self._p_jar is not None and getattr(self._p_jar.db(), "opsapp_node", None) is not None:
            root = self._p_jar.root()[KEY]
            if not chainkey.is_shut(root):
                state["signature"] = self.__dict__["signature"] = signature(chainkey.chain_key(root), self)
        return state

    def is_sound(self, root: Root) -> bool:
        """What this transaction has changed is signed with it; in an older store nothing is signed yet."""
        if not healing_of(root).trust.signed:
            return True
        if self._p_changed or self._v_sound is self.trust:
            return True
        if chainkey.is_shut(root):
            return False
        if self.signature is None and self._is_new(root):  # the rule came while the key was away
            return True
        if self.signature != signature(chainkey.chain_key(root), self) or not self._is_latest(root):
            return False
        self._v_sound = self.trust
        return True

    def mark(self, root: Root, key: bytes | None = None) -> None:
        """What is older is refused from now on."""
        key, reached = key or chainkey.chain_key(root), self._reached()
        mark = (*reached, chains.link(key, chains.GENESIS, _marking(self.__name__, reached)))
        marks = healing_of(root)["trust"].all_marks()
        if key and marks.get(self.__name__) != mark:
            marks[self.__name__] = mark

    def _reached(self) -> tuple[float, int]:
        """What only grows."""
        return self.trust.since, self.trust.executions

    def _is_latest(self, root: Root) -> bool:
        mark = (healing_of(root)["trust"].marks or {}).get(self.__name__)
        if mark is None:  # it was written before there were marks, or without the key
            return True
        *reached, signed = mark
        is_whole = chains.fits(chainkey.chain_key(root), signed, chains.GENESIS, _marking(self.__name__, reached))
        return is_whole and self._reached() >= tuple(reached)

    def _is_new(self, root: Root) -> bool:
        """It asks before it acts and has earned nothing."""
        rule, trust = healing_of(root).rules.get(self.__name__), self.trust
        if rule is None or trust.current_level not in LEVELS[: rank("notify") + 1]:
            return False
        ceiling, seen_at = rule.record.trust_ceiling, trust.last_evaluated
        new = Trust(self.__name__, trust.current_level, ceiling, trust.definition, trust.since, last_evaluated=seen_at)
        return bool(trust == new)

    def require_sound(self, root: Root) -> None:
        if self.is_sound(root):
            return
        if chainkey.is_shut(root):
            raise no_key()
        raise Conflict(
            "The trust of this rule was edited in the store: the rule is about to fall.", code="trust_edited"
        )


def _marking(rule_id: str, reached: Iterable[float]) -> list[Any]:
    return ["trust mark", rule_id, *reached]


def signature(key: bytes, state: SignedTrust) -> str:
    return chains.link(key, chains.GENESIS, ["trust", state.__name__, plain(state.trust)])


def plain(value: Any) -> Any:
    """Defaults are left out, so that a version with more fields signs the same."""
    if hasattr(value, "_fields"):
        fields, defaults = value._asdict(), value._field_defaults
        return {name: plain(field) for name, field in fields.items() if name not in defaults or field != defaults[name]}
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def sign_all(root: Root, key: bytes) -> int:
    """The store has got its key. How many."""
    states = dict(healing_of(root).trust.items())
    for state in states.values():
        state._p_changed = True
        state.mark(root, key)
    return len(states)


def mark_older(root: Root) -> None:
    """Once in an older store: no state may go back behind this."""
    book = healing_of(root)["trust"]
    if book.marks is None and not chainkey.is_shut(root):
        for state in book.values():
            if state.is_sound(root):
                state.mark(root)


def sign_older(root: Root) -> int:
    """Once in an older store, whose states are taken as they are. How many."""
    book = healing_of(root).trust
    if book.signed or chainkey.is_shut(root):
        return 0
    book.signed = True
    return sign_all(root, chainkey.chain_key(root))
