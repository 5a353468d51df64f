"""What checks are made of, and what other rooms call of monitoring: the names below, `interfaces`, `resources`."""

from opsapp.monitoring.logic.history import MetricPoint, ResponsePoint
from opsapp.monitoring.logic.pastbudget import BudgetPast
from opsapp.monitoring.logic.report import ReportedLine, ReportTotal
from opsapp.monitoring.logic.settings import ADMINS_WRITE, GeneralSettings, MonitoringSettings, MonitorSettings
from opsapp.monitoring.logic.state import STATUSES
from opsapp.monitoring.logic.statuspage import is_known
from opsapp.monitoring.logic.told import ToldTrouble
from opsapp.monitoring.logic.uptime import shown as shown_uptime
from opsapp.monitoring.notices import NoticeSettings
from opsapp.monitoring.probes.transfers import Reply
from opsapp.monitoring.shownon import PageScope

from .checks import request_check
from .incident_list import incident_rows, taken_since
from .lateststatus import KeptText, LatestStatus, latest_status
from .monitorlists import MonitorTally, statuses_now, tally
from .notices import every_open as open_notices
from .register import Entry
from .reports import budget_pasts, budgets_left
from .retention import archived_incidents
from .statuspage import TAG as PUBLIC_TAG
from .statuspage import has_earlier_incidents, published, published_incident, published_incidents, status_document
from .toldtroubles import close_told, open_told, severity_of
from .trouble import MonitorsStanding, TroubledMonitor, ending_certificates, last_day, standing_of_all
from .watch import register_of
from .webcalls import WebClient
