"""An OTLP/HTTP receiver: says its port, then each span as a line of JSON.

Takes protobuf, as Python's exporter sends it, and JSON.
"""

import gzip
import json
import threading
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue

SAYING = threading.Lock()
LIMIT = 16 * 1024 * 1024


def texts(attributes: Iterable[KeyValue]) -> dict[str, str]:
    """Returns the attributes that are texts."""
    return {
        each.key: each.value.string_value
        for each in attributes
        if each.value.HasField("string_value")
    }


def spans_of(body: bytes, content_type: str) -> list[dict[str, Any]]:
    """Returns what was sent, the same for both encodings."""
    if content_type.startswith("application/json"):
        return list(json.loads(body))
    request = ExportTraceServiceRequest.FromString(body)
    return [
        {
            "traceId": span.trace_id.hex(),
            "spanId": span.span_id.hex(),
            "parentSpanId": span.parent_span_id.hex(),
            "name": span.name,
            "scope": scope.scope.name,
            "attributes": texts(span.attributes),
            "events": [event.name for event in span.events],
            "links": [
                {"spanId": link.span_id.hex(), "attributes": texts(link.attributes)}
                for link in span.links
            ],
        }
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


class Receiver(BaseHTTPRequestHandler):
    """Answers every request as well received."""

    def do_POST(self) -> None:
        """Takes one export."""
        size = int(self.headers.get("Content-Length", "0"))
        body = self.rfile.read(min(size, LIMIT))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if self.path == "/v1/traces":
            spans = spans_of(body, self.headers.get("Content-Type", ""))
            # Each request has a thread: their lines must not mix.
            with SAYING:
                for span in spans:
                    print(json.dumps(span), flush=True)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
print(json.dumps({"port": server.server_port}), flush=True)
server.serve_forever()
