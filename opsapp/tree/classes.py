"""Where the classes of stored objects are.

A store names the class of an object as it was called when the object was written. Whoever renames or moves such a
class adds it to ADDRESSES. A version before does not know the new name, so an evolve step that is not reversible comes
with it. Must not: open a store.
"""

from __future__ import annotations

from typing import Any

from ZODB.broken import find_global

RESOURCES, RUNTIME = "opsapp.healing.resources", "opsapp.runtime"
ADDRESSES = {
    "opsapp.auth.logic.attempts.Limit": "opsapp.auth.logic.attempts.AttemptLimit",
    "opsapp.healing.logic.chain.Mark": "opsapp.healing.logic.chain.UnsignedLinks",
    "opsapp.healing.logic.effectiveness.Tally": "opsapp.healing.logic.effectiveness.OutcomeTally",
    f"{RESOURCES}.Begun": f"{RESOURCES}.RecentHeal",
    f"{RESOURCES}.deeds.Deeds": f"{RESOURCES}.server_actions.ServerActions",
    f"{RESOURCES}.ledger.Entry": f"{RESOURCES}.ledger.LedgerEntry",
    f"{RESOURCES}.ledger.Index": f"{RESOURCES}.ledger.EntryIndex",
    f"{RESOURCES}.surroundings.Dependencies": f"{RESOURCES}.dependencies.Dependencies",
    "opsapp.healing.stages.reported.Begun": "opsapp.healing.stages.reported.BelievedStep",
    f"{RUNTIME}.ascodereferences.ReferenceBook": f"{RUNTIME}.ascode.references.ReferenceBook",
    f"{RUNTIME}.clockpieces.LeftPiece": f"{RUNTIME}.clocks.pieces.LeftPiece",
    f"{RUNTIME}.leases.Lease": f"{RUNTIME}.cluster.leases.Lease",
    f"{RUNTIME}.leases.Pulse": f"{RUNTIME}.cluster.leases.Pulse",
    f"{RUNTIME}.nodes.NodeRecord": f"{RUNTIME}.cluster.nodes.NodeRecord",
}


def stored_class(module: str, name: str) -> Any:
    """A subclass of `ZODB.broken.Broken` where there is no such class."""
    address = f"{module}.{name}"
    module, _, name = ADDRESSES.get(address, address).rpartition(".")
    return find_global(module, name)


def class_factory(_connection: Any, module: str, name: str) -> Any:
    """What a ZODB database asks for the class of an object that it loads."""
    return stored_class(module, name)
