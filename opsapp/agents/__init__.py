"""It reaches hosts: agent records, reports, sessions, commands, streams, files, deployment. /api/agents.

Greenlets, besides one for each open session (the connection's own):

    executor      the child process that runs what the service does on its own machine
    agents-push   commands to the sessions of this node
    agents-sweep  which agents no longer report, which commands have expired

Must not: decide what to do on a host; it delivers what it is given, at most once.
"""

FORWARDABLE = (
    ("GET", "/api/agents/*/files"),
    ("POST", "/api/agents/*/files"),
    ("GET", "/api/agents/*/stream/logs"),
    ("GET", "/api/agents/*/stream/metrics"),
    ("POST", "/node-heard"),
    ("POST", "/node-measure"),
    ("POST", "/node-probe"),
)


def includeme(config):
    from opsapp.maintenance.interfaces import IScopeKind
    from opsapp.runtime.deletions import Deletable
    from opsapp.runtime.findings import IFinder

    from .config import AgentSettings, ExecutorSettings
    from .engine import directory, executor, executor_standing, lifecycle, outputs, relay
    from .engine.figures import figures
    from .engine.memory import remember
    from .engine.scope import AgentScope
    from .engine.sessions import prepare
    from .resources import Agent
    from .views.credential import read_agent_key

    config.registry.registerUtility(AgentScope(), IScopeKind, "agent")
    config.registry.registerUtility(executor_standing.standing, IFinder, "executor")
    config.registry.registerUtility(executor_standing.isolation, IFinder, "executor isolation")
    config.add_evolve_step("agents-1", "opsapp.agents.resources.set_up")
    config.add_section("agents", AgentSettings)
    config.add_section("executor", ExecutorSettings)
    config.add_metrics(figures)
    config.add_sealed("opsapp.agents.resources.reseal")
    config.add_deletable(Deletable("host", "admin", "/agents/{}", lifecycle.put_back, lifecycle.let_go))
    config.add_reach(Agent, directory.tags_of_agent)
    config.add_event_reach("agent", directory.tags_of_event)
    # First, because on an agent's own paths its key alone says who it is.
    config.add_credential_reader(read_agent_key, first=True)
    config.add_preparation(directory.prepare)
    config.add_preparation(remember)
    config.add_preparation(prepare)
    config.add_preparation(outputs.prepare)
    config.add_preparation(relay.prepare)
    config.add_preparation(executor.prepare)
    config.add_engine(executor.start)
    config.add_engine("opsapp.agents.engine.sweep.start")
    config.add_sink("POST", "/api/agents/*/files")
    for method, pattern in FORWARDABLE:
        config.add_forwardable(method, pattern)
    config.add_body_limit("POST", relay.PATH, 2 * relay.MOST_BYTES)
    config.scan("opsapp.agents.views")
