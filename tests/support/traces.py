"""A collector of traces: it decodes OTLP with OpenTelemetry's own protobuf classes, and knows what it was sent."""

from __future__ import annotations

from typing import NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from .receiver import Receiver


class SpanSeen(NamedTuple):
    service: str
    host: str
    name: str
    trace: str
    id: str
    parent: str
    kind: int
    began: int
    ended: int
    facts: dict
    failed: str | None
    moments: tuple
    links: tuple


def decoded(body):
    """The spans of an ExportTraceServiceRequest."""
    message = ExportTraceServiceRequest.FromString(body)
    assert message.SerializeToString() == body, "nothing that OpenTelemetry does not know"
    return [
        seen(span, facts_of(resource.resource.attributes))
        for resource in message.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def facts_of(attributes):
    return {entry.key: getattr(entry.value, entry.value.WhichOneof("value")) for entry in attributes}


def seen(span, resource):
    return SpanSeen(
        resource["service.name"],
        resource.get("host.name", ""),
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.kind,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        facts_of(span.attributes),
        span.status.message if span.status.code == 2 else None,
        tuple((event.name, event.time_unix_nano) for event in span.events),
        tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
    )


class TraceCollector(Receiver):
    def __init__(self):
        super().__init__(read=decoded)

    @property
    def config(self):
        return {"endpoint": f"http://127.0.0.1:{self.port}", "timeout_s": 2}

    @property
    def spans(self):
        return [span for message in list(self.messages) for span in message]

    def of(self, trace):
        return [span for span in self.spans if span.trace == trace]

    def named(self, name, **facts):
        """The spans with this name and these facts (`_` for a dot)."""
        wanted = {name.replace("_", "."): value for name, value in facts.items()}.items()
        return [span for span in self.spans if span.name == name and wanted <= span.facts.items()]


def ladder(spans):
    """The names of one trace's spans, each with that of its parent; every parent but the first is there, and lasts as
    long as its children."""
    by_id = {span.id: span for span in spans}
    assert len(by_id) == len(spans), "each span once"
    assert len({span.trace for span in spans}) == 1
    [first] = [span for span in spans if span.parent not in by_id]
    for span in spans:
        assert span.began <= span.ended
        if span is not first:
            assert by_id[span.parent].began <= span.began, (span.name, by_id[span.parent].name)
    return {(by_id[span.parent].name if span is not first else "", span.name) for span in spans}
