"""The parts of pages whose answers are declared records: the name of each with the class of its answer.

Must not: know an API's address, or what is shown of an answer.
"""

from opsapp.agents.records import AgentDetail, AgentRow, CommandRecord, FleetRow
from opsapp.healing.foretold import ForecastRecord
from opsapp.healing.health_answers import Health
from opsapp.healing.moments import Moment
from opsapp.healing.overview_answers import Overview
from opsapp.healing.records import RuleRecord
from opsapp.maintenance.records import WindowCoverage
from opsapp.monitoring.notices import NoticeRecord
from opsapp.monitoring.records import IncidentRecord, MonitorRecord, UptimeFigures, WarRoom
from opsapp.notify.records import ChannelRecord, DeliveryRecord

from .reader import AnswerOf, Answers

AGENT = AnswerOf("agent", AgentDetail)
AGENTS = AnswerOf("hosts", list[AgentRow])
BEATS = AnswerOf("beats", list[MonitorRecord])
CHANNEL = AnswerOf("channel", ChannelRecord)
CHANNELS = AnswerOf("channels", list[ChannelRecord])
COMMAND = AnswerOf("command", CommandRecord)
COMMANDS = AnswerOf("commands", list[CommandRecord])
COVERED = AnswerOf("covered", WindowCoverage)
DEAD = AnswerOf("dead", list[AgentRow])
DELIVERIES = AnswerOf("deliveries", list[DeliveryRecord])
DELIVERY = AnswerOf("delivery", DeliveryRecord)
EVERYTHING = AnswerOf("everything", WindowCoverage)
FAILED = AnswerOf("failed", list[DeliveryRecord])
FORECASTS = AnswerOf("forecasts", list[ForecastRecord])
HEALTH = AnswerOf("health", Health)
HOSTS = AnswerOf("hosts", list[FleetRow])
INCIDENTS = AnswerOf("incidents", list[IncidentRecord])
MOMENT = AnswerOf("moment", Moment)
MONITOR = AnswerOf("monitor", MonitorRecord)
MONITORS = AnswerOf("monitors", list[MonitorRecord])
NOTICES = AnswerOf("notices", list[NoticeRecord])
OFFLINE = AnswerOf("offline", list[AgentRow])
OPEN = AnswerOf("open", list[IncidentRecord])
OVERVIEW = AnswerOf("overview", Overview)
ROOM = AnswerOf("room", WarRoom)
RULES = AnswerOf("rules", list[RuleRecord])
UPTIME = AnswerOf("uptime", list[UptimeFigures])
WAITING = AnswerOf("waiting", list[DeliveryRecord])


def names_in(answers: Answers) -> dict[str, str]:
    """What people call the monitors and hosts that a page has."""
    return {row.id: row.name for row in answers[MONITORS]} | {row.id: row.name for row in answers[AGENTS]}
