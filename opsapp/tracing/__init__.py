"""OpenTelemetry traces: request, run, command and heal as spans for an OTLP collector; off without one.
Greenlets: tracing (under the lease of that name), tracing-requests (every node).

Lives here: ids of traces, spans, their encoding, sending them, and the tween of requests. Must not: change anything
that others do; nothing waits for a collector ([ADR 149](docs/adr/149-traces-from-what-is-stored.md)).

    logic/      ids, spans, OTLP: pure
    resources   how far the outbox was read
    engine/     spans of what happened, their way to the collector
    tween.py    spans of requests
"""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    from .config import TracingSettings

    config.add_section("tracing", TracingSettings)
    config.add_metrics("opsapp.tracing.engine.figures")
    config.add_preparation("opsapp.tracing.engine.prepare")
    config.add_preparation("opsapp.tracing.tween.name_in_log_lines")
    config.add_engine("opsapp.tracing.engine.start")
    config.add_engine("opsapp.tracing.engine.start_everywhere", everywhere=True)
    config.add_tween("opsapp.tracing.tween.tracing_tween", over="opsapp.web.tweens.dressing_tween")
    config.add_tween("opsapp.tracing.tween.asked_tween", under="opsapp.web.tweens.unnamed_tween")
