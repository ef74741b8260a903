"""An OTLP/HTTP receiver: says its port, then what it gets, each as a line of JSON.

Spans, points of metrics and log records, marked by their `signal`. Takes protobuf,
as the exporters send it; spans also as JSON, as they are said.
"""

import gzip
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
)
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

SAYING = threading.Lock()
LIMIT = 16 * 1024 * 1024

Said = dict[str, Any]


def value_of(value: AnyValue) -> Any:
    """Returns a value as JSON has it; bytes as hexadecimal digits."""
    match value.WhichOneof("value"):
        case None:
            return None
        case "array_value":
            return [value_of(each) for each in value.array_value.values]
        case "kvlist_value":
            return attributes_of(value.kvlist_value.values)
        case "bytes_value":
            return value.bytes_value.hex()
        case kind:
            return getattr(value, kind)


def attributes_of(attributes: Iterable[KeyValue]) -> Said:
    """Returns attributes by name."""
    return {each.key: value_of(each.value) for each in attributes}


def spans_of(body: bytes) -> Iterator[Said]:
    """Yields the spans of an export."""
    request = ExportTraceServiceRequest.FromString(body)
    for of in request.resource_spans:
        for scope in of.scope_spans:
            for span in scope.spans:
                yield {
                    "signal": "span",
                    "resource": attributes_of(of.resource.attributes),
                    "traceId": span.trace_id.hex(),
                    "spanId": span.span_id.hex(),
                    "parentSpanId": span.parent_span_id.hex(),
                    "name": span.name,
                    "scope": scope.scope.name,
                    "attributes": attributes_of(span.attributes),
                    "events": [event.name for event in span.events],
                    "links": [
                        {
                            "spanId": link.span_id.hex(),
                            "attributes": attributes_of(link.attributes),
                        }
                        for link in span.links
                    ],
                }


def points_of(body: bytes) -> Iterator[Said]:
    """Yields the points of an export's metrics."""
    request = ExportMetricsServiceRequest.FromString(body)
    for of in request.resource_metrics:
        for scope in of.scope_metrics:
            for metric in scope.metrics:
                for point in values_of(metric):
                    yield {
                        "signal": "point",
                        "resource": attributes_of(of.resource.attributes),
                        "scope": scope.scope.name,
                        "name": metric.name,
                        "unit": metric.unit,
                        **point,
                    }


def values_of(metric: Metric) -> Iterator[Said]:
    """Yields attributes and values; of a histogram the count, and where it is cut."""
    kind = metric.WhichOneof("data")
    if kind is None:
        return
    for point in getattr(metric, kind).data_points:
        said: Said = {"kind": kind, "attributes": attributes_of(point.attributes)}
        if kind in ("sum", "gauge"):
            yield {**said, "value": getattr(point, point.WhichOneof("value"))}
        elif kind == "histogram":
            yield {
                **said,
                "value": point.count,
                "boundaries": list(point.explicit_bounds),
            }
        else:
            yield {**said, "value": point.count}


def records_of(body: bytes) -> Iterator[Said]:
    """Yields the log records of an export."""
    request = ExportLogsServiceRequest.FromString(body)
    for of in request.resource_logs:
        for scope in of.scope_logs:
            for record in scope.log_records:
                yield {
                    "signal": "record",
                    "resource": attributes_of(of.resource.attributes),
                    "scope": scope.scope.name,
                    "eventName": record.event_name,
                    "severity": record.severity_text,
                    "body": value_of(record.body),
                    "traceId": record.trace_id.hex(),
                    "spanId": record.span_id.hex(),
                    "attributes": attributes_of(record.attributes),
                }


READERS: dict[str, Callable[[bytes], Iterator[Said]]] = {
    "/v1/traces": spans_of,
    "/v1/metrics": points_of,
    "/v1/logs": records_of,
}


class Receiver(BaseHTTPRequestHandler):
    """Answers every request as well received."""

    def do_POST(self) -> None:
        """Takes one export."""
        body = self.read_body()
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if self.headers.get("Content-Type", "").startswith("application/json"):
            said: list[Said] = json.loads(body)
        else:
            reader = READERS.get(self.path)
            said = list(reader(body)) if reader is not None else []
        # Each request has a thread: their lines must not mix.
        with SAYING:
            for each in said:
                print(json.dumps(each))
            print(end="", flush=True)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def read_body(self) -> bytes:
        """Reads what has a length, and what comes in chunks, as from Node's exporters."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            size = int(self.headers.get("Content-Length", "0"))
            return self.rfile.read(min(size, LIMIT))
        body = b""
        while (size := int(self.rfile.readline(32), 16)) > 0:
            body += self.rfile.read(min(size, LIMIT - len(body)))
            self.rfile.readline(2)
        self.rfile.readline(2)
        return body

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
print(json.dumps({"port": server.server_port}), flush=True)
server.serve_forever()
