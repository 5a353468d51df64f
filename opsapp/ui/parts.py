"""The parts of pages: the name of each with the class of its answer. Must not: know an API's address."""

from opsapp.agents.records import AgentDetail, AgentRow, CommandRecord, FleetRow
from opsapp.approvals.records import ApprovalRecord
from opsapp.audit.records import AuditEntry
from opsapp.auth.records import InvitationRecord, KeyShown, OwnSettings, Person, SessionShown, UserShown
from opsapp.automations.records import AutomationRecord, AutomationRow, RunRecord, RunRow, SecretRecord, TemplateRecord
from opsapp.healing.answers import ActionRecord, CaseShown, LastCheck, LedgerEntryShown, SuggestionRecord, TrustShown
from opsapp.healing.foretold import ForecastRecord
from opsapp.healing.health_answers import Health
from opsapp.healing.inlet_answers import InletRecord
from opsapp.healing.lift_answers import LiftAnswer, WaitAnswer
from opsapp.healing.moments import Moment
from opsapp.healing.overview_answers import Overview
from opsapp.healing.records import DependencyGraph, ProblemRecord, RuleRecord
from opsapp.healing.whatif import Compared, ReadingRecord, Rehearsed, Replayed, ScenarioRecord, Simulated
from opsapp.maintenance.records import CalendarEntry, HealingWindowRecord, WindowCoverage, WindowRecord
from opsapp.monitoring.engine import MetricPoint, ReportedLine, ReportTotal, ResponsePoint
from opsapp.monitoring.notices import NoticeRecord
from opsapp.monitoring.records import IncidentRecord, MonitorRecord, UptimeFigures, WarRoom
from opsapp.notify.interfaces import ChannelDescription
from opsapp.notify.records import ChannelRecord, DeliveryRecord
from opsapp.oncall.records import EscalationRecord, OnCallRecord, PolicyRecord, ScheduleRecord, ShiftRecord
from opsapp.statuspages.records import OwnPageRecord, PageRecord, SubscriptionCounts
from opsapp.web.records import Findings, PublicStatus, SettingsShown, StoreState
from opsapp.wire.dataclass import frozen

from .reader import AnswerOf, Answers, ReadAs


@frozen
class HostPoint:
    time: int
    disks: dict[str, float]
    cpu_percent: float | None = None
    mem_percent: float | None = None
    disk_percent: float | None = None
    swap_percent: float | None = None
    load1: float | None = None
    load5: float | None = None
    load15: float | None = None
    rx_bytes_s: float | None = None
    tx_bytes_s: float | None = None


ACTIONS = AnswerOf("actions", list[ActionRecord])
AGENT = AnswerOf("agent", AgentDetail)
AGENTS = AnswerOf("hosts", list[AgentRow])
APPROVALS = AnswerOf("approvals", list[ApprovalRecord])
AUDIT = AnswerOf("audit", list[AuditEntry])
AUTOMATION = AnswerOf("automation", AutomationRecord)
AUTOMATIONS = AnswerOf("automations", list[AutomationRow])
BEATS = AnswerOf("beats", list[MonitorRecord])
CALENDAR = AnswerOf("calendar", list[CalendarEntry])
CASE = AnswerOf("case", CaseShown)
CHANNEL = AnswerOf("channel", ChannelRecord)
CHANNELS = AnswerOf("channels", list[ChannelRecord])
CHANNELS_ALL = AnswerOf("every_channel", list[ChannelRecord])
CHECK = AnswerOf("check", LastCheck)
COMMAND = AnswerOf("command", CommandRecord)
CONFIGURED = AnswerOf("configured", SettingsShown)
COMMANDS = AnswerOf("commands", list[CommandRecord])
COVERED = AnswerOf("covered", WindowCoverage)
COUNTS = AnswerOf("counts", SubscriptionCounts)
DAYS = AnswerOf("days", list[ResponsePoint])
DEAD = AnswerOf("dead", list[AgentRow])
DECIDED = AnswerOf("decided", list[ApprovalRecord])
DEPENDENCIES = AnswerOf("dependencies", DependencyGraph)
DELIVERIES = AnswerOf("deliveries", list[DeliveryRecord])
DELIVERY = AnswerOf("delivery", DeliveryRecord)
DOCTOR = AnswerOf("doctor", Findings)
ENTRIES = AnswerOf("entries", list[AuditEntry])
EVERYTHING = AnswerOf("everything", WindowCoverage)
ESCALATIONS = AnswerOf("escalations", list[EscalationRecord])
FAILED = AnswerOf("failed", list[DeliveryRecord])
GRAPH = AnswerOf("graph", DependencyGraph)
FORECASTS = AnswerOf("forecasts", list[ForecastRecord])
HEALTH = AnswerOf("health", Health)
HEALING_WINDOWS = AnswerOf("windows", list[HealingWindowRecord])
HELD = AnswerOf("healing", list[HealingWindowRecord])
HOLDS = AnswerOf("holds", list[HealingWindowRecord])
HEALS = AnswerOf("heals", list[LedgerEntryShown])
HOSTS = AnswerOf("hosts", list[FleetRow])
HOST_POINTS = ReadAs("host", list[HostPoint])
INCIDENTS = AnswerOf("incidents", list[IncidentRecord])
INLETS = AnswerOf("inlets", list[InletRecord])
KEYS = AnswerOf("keys", list[KeyShown])
INVITED = AnswerOf("invited", list[InvitationRecord])
LEDGER = AnswerOf("ledger", list[LedgerEntryShown])
LIFT = AnswerOf("lift", LiftAnswer)
METRICS = AnswerOf("metrics", list[MetricPoint])
MOMENT = AnswerOf("moment", Moment)
MONITOR = AnswerOf("monitor", MonitorRecord)
MONITORS = AnswerOf("monitors", list[MonitorRecord])
MONITOR_POINTS = AnswerOf("monitor", list[ResponsePoint])
NOTICES = AnswerOf("notices", list[NoticeRecord])
NOW = AnswerOf("now", Compared)
OFFLINE = AnswerOf("offline", list[AgentRow])
ON_CALL = AnswerOf("on_call", list[OnCallRecord])
OPEN = AnswerOf("open", list[IncidentRecord])
OVER_PAST = AnswerOf("over_past", Rehearsed)
OWN_PAGE = AnswerOf("page", OwnPageRecord)
OWN = AnswerOf("own", OwnSettings)
OVERVIEW = AnswerOf("overview", Overview)
PEOPLE = AnswerOf("people", list[Person])
PAST = AnswerOf("past", Replayed)
POLICY = AnswerOf("policy", PolicyRecord)
PUBLISHED = AnswerOf("published", list[MonitorRecord])
PROBLEM = AnswerOf("problem", ProblemRecord)
PROBLEMS = AnswerOf("problems", list[ProblemRecord])
READINGS = AnswerOf("readings", list[ReadingRecord])
REPORT = AnswerOf("rows", list[ReportedLine])
REQUEST = AnswerOf("request", ApprovalRecord)
ROOM = AnswerOf("room", WarRoom)
RUN = AnswerOf("run", RunRecord)
RUNS = AnswerOf("runs", list[RunRow])
RULE = AnswerOf("rule", RuleRecord)
RULES = AnswerOf("rules", list[RuleRecord])
SCENARIOS = AnswerOf("scenarios", list[ScenarioRecord])
SCHEDULE = AnswerOf("schedule", ScheduleRecord)
SCHEDULES = AnswerOf("schedules", list[ScheduleRecord])
SECRETS = AnswerOf("secrets", list[SecretRecord])
SERVICE = AnswerOf("status", PublicStatus)
SESSIONS = AnswerOf("sessions", list[SessionShown])
SHIFTS = AnswerOf("shifts", list[ShiftRecord])
SOURCE = AnswerOf("source", RuleRecord)
STATUS_PAGE = AnswerOf("settings", PageRecord)
STORE = AnswerOf("store", StoreState)
STORED_WINDOW = AnswerOf("stored", WindowRecord)
SUGGESTIONS = AnswerOf("suggestions", list[SuggestionRecord])
TEMPLATES = AnswerOf("templates", list[TemplateRecord])
TOTAL_LINE = AnswerOf("total", ReportTotal)
TRUST = AnswerOf("trust", list[TrustShown])
TYPES = ReadAs("types", list[ChannelDescription])
UPTIME = AnswerOf("uptime", list[UptimeFigures])
USERS = AnswerOf("users", list[UserShown])
USERS_OF = AnswerOf("users", list[AutomationRow])
WAIT = AnswerOf("wait", WaitAnswer)
WAITING = AnswerOf("waiting", list[DeliveryRecord])
WHAT_IF = AnswerOf("what_if", Simulated)
WINDOW = AnswerOf("window", WindowRecord)
WINDOWS = AnswerOf("windows", list[WindowRecord])
WINDOWS_PLANNED = AnswerOf("planned", list[WindowRecord])
WINDOWS_OFF = AnswerOf("off", list[WindowRecord])
WINDOWS_PAST = AnswerOf("past", list[WindowRecord])


def names_in(answers: Answers) -> dict[str, str]:
    return {row.id: row.name for row in answers[MONITORS]} | {row.id: row.name for row in answers[AGENTS]}
