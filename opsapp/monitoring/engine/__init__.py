"""What checks are made of, and what other rooms call of monitoring: the names below, `interfaces`, `resources`."""

from opsapp.monitoring.logic.settings import MonitoringSettings
from opsapp.monitoring.logic.state import STATUSES
from opsapp.monitoring.logic.statuspage import is_known
from opsapp.monitoring.logic.uptime import shown as shown_uptime
from opsapp.monitoring.probes.http import call as call_web
from opsapp.monitoring.probes.prober import Prober
from opsapp.monitoring.probes.transfers import Reply

from .checking import request_check
from .incident_list import incident_rows
from .listing import page as list_monitors
from .register import Entry
from .statuspage import status_document
from .watch import register_of

__all__ = [
    "STATUSES",
    "Entry",
    "MonitoringSettings",
    "Prober",
    "Reply",
    "call_web",
    "incident_rows",
    "is_known",
    "list_monitors",
    "register_of",
    "request_check",
    "shown_uptime",
    "status_document",
]
