"""Dependencies as a test writes them."""

from opsapp.healing.logic.graph import Dependency
from opsapp.healing.resources import healing_of
from opsapp.wire.records import made


def depend(root, entries, source="api"):
    """Declare what a list of entries says, in the caller's transaction."""
    healing_of(root)["dependencies"].declare([made(Dependency, entry) for entry in entries], source)
