"""What an archive has of monitoring: incidents that are over."""

from __future__ import annotations

from itertools import islice

from opsapp.lib.addresses import public
from opsapp.monitoring.resources import incidents_of
from opsapp.runtime import archive
from opsapp.runtime.archive import ArchivePage
from opsapp.tree.root import Root
from opsapp.wire.records import plain


def archived_incidents(root: Root, after: str) -> ArchivePage:
    """By id, so oldest first. The one that `after` names may be forgotten by now."""
    incidents = incidents_of(root)
    ids = [incident_id for incident_id in islice(incidents.keys(after), archive.PAGE + 1) if incident_id != after]
    ids = ids[: archive.PAGE]
    readable = list(incidents.some(ids))
    rows = [public(plain(incident.record(incident.resolved))) for incident in readable if incident.resolved is not None]
    return ArchivePage(rows, ids[-1] if len(ids) == archive.PAGE else None, len(ids) - len(readable))
