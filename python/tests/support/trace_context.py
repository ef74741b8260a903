"""What a host sends along with a call, and what a worker's spans say about it."""

from __future__ import annotations

from typing import Any

from support.conversation import Conversation

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
PARENT_ID = "b7ad6b7169203331"
CONTEXT = {"traceparent": f"00-{TRACE_ID}-{PARENT_ID}-01", "baggage": "tenant=acme"}

# Tools that keep their spans in memory, for `finished_spans`.
IN_MEMORY = """
    from opentelemetry import baggage, trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import (
        InMemorySpanExporter,
    )
    from snakepit_bridge import tool

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    tracer = trace.get_tracer("user")

    @tool
    def finished_spans() -> list[dict]:
        def image(span):
            parent = span.parent
            return {
                "name": span.name,
                "kind": span.kind.name,
                "trace": trace.format_trace_id(span.context.trace_id),
                "id": trace.format_span_id(span.context.span_id),
                "parent": trace.format_span_id(parent.span_id) if parent else "",
                "attributes": dict(span.attributes),
                "status": span.status.status_code.name,
                "description": span.status.description or "",
                "events": [(e.name, dict(e.attributes)) for e in span.events],
                "scope": span.instrumentation_scope.name,
            }
        spans = [image(span) for span in exporter.get_finished_spans()]
        exporter.clear()
        return spans
"""


def finished_spans(conversation: Conversation) -> dict[str, Any]:
    """Returns the spans that ended since the last time, by name.

    Raises:
        AssertionError: two have the same name.
    """
    spans = conversation.call("finished_spans")
    by_name = {span["name"]: span for span in spans if span["name"] != "finished_spans"}
    asked = [span for span in spans if span["name"] == "finished_spans"]
    assert len(by_name) + len(asked) == len(spans), spans
    return by_name
