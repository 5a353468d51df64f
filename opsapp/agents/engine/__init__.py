"""What other rooms call.

Inside a transaction: commands, hosts, policies, outcomes. On the hub: `request_report`, `request_probe`, `presence`,
`outputs_of(node).watch`, `executor_of(node).run`.
A result that is committed wakes the queue `command-results`; a heal that an agent did alone `agent-outcomes`.
"""

from opsapp.agents.resources import take_outcomes

from .commands import (
    answer_of,
    cancel_command,
    changed_since,
    command_of,
    is_private_unit,
    recall_command,
    send_command,
)
from .directory import agent_tags, catch_up_agents, seen_agents
from .executor import ExecutorProcess, executor_history, executor_of, executor_trouble, needs_admin, require_author
from .executor_standing import not_held
from .memory import subject
from .outputs import outputs_of
from .policies import give_policies, policies_of, terms_of
from .records import HostFacts, HostsStanding, SilentHost, host_ids, host_of, hosts, presence, standing_of_hosts
from .reports import silences_of
from .sessions import request_probe, request_report

__all__ = [
    "ExecutorProcess",
    "HostFacts",
    "HostsStanding",
    "SilentHost",
    "agent_tags",
    "answer_of",
    "cancel_command",
    "catch_up_agents",
    "changed_since",
    "command_of",
    "executor_history",
    "executor_of",
    "executor_trouble",
    "give_policies",
    "host_ids",
    "host_of",
    "hosts",
    "is_private_unit",
    "needs_admin",
    "not_held",
    "outputs_of",
    "policies_of",
    "presence",
    "recall_command",
    "request_probe",
    "request_report",
    "require_author",
    "seen_agents",
    "send_command",
    "silences_of",
    "standing_of_hosts",
    "subject",
    "take_outcomes",
    "terms_of",
]
