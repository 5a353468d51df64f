"""What an importer has taken, as documents say it, with what they leave out of it because it says nothing."""

from opsapp.importers.estate import KINDS, MonitorEntry
from opsapp.wire.kinds import REQUIRED
from opsapp.wire.records import parts_of


def unsaid(record=MonitorEntry):
    said = [part for part in parts_of(record) if part.default is not REQUIRED]
    return {part.name: part.default if part.default is None else part.kind.plain(part.default) for part in said}


def taken_of(estate, kind="monitors"):
    (record,) = [record for record, known in KINDS.items() if known.name == kind]
    return [unsaid(record) | entry for entry in estate.document().get(kind, [])]
