"""A receiver of OTLP over HTTP, in a process of its own: `python -m support.otlp_receiver`.

It prints its port. `GET /received?spans=1&metrics=1&logs=1` answers once it has as
many, with all that it has, as JSON. Named `silent`, it takes requests and never
answers them.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import subprocess
import sys
import threading
import urllib.parse
import urllib.request
import zlib
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
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

DEADLINE_S = 30.0
SIGNALS = ("spans", "metrics", "logs")


class Receiver:
    """The test's end of a receiver."""

    def __init__(self, port: int) -> None:
        self.endpoint = f"http://127.0.0.1:{port}"

    def received(self, **at_least: int) -> dict[str, list[Any]]:
        """Returns all that came once as much has come: `received(spans=2)`."""
        query = urllib.parse.urlencode(at_least)
        url = f"{self.endpoint}/received?{query}"
        with urllib.request.urlopen(url, timeout=DEADLINE_S) as answer:
            received: dict[str, list[Any]] = json.load(answer)
        return received


@contextlib.contextmanager
def receiver(*how: str) -> Iterator[Receiver]:
    """Runs a receiver."""
    process = subprocess.Popen(
        [sys.executable, "-m", "support.otlp_receiver", *how],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield Receiver(int(process.stdout.readline()))
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    have: dict[str, list[Any]] = {signal: [] for signal in SIGNALS}  # noqa: RUF012
    changed = threading.Condition()

    def do_POST(self) -> None:
        if "silent" in sys.argv:
            threading.Event().wait()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        coding = self.headers.get("Content-Encoding")
        if coding == "gzip":
            body = gzip.decompress(body)
        elif coding == "deflate":
            body = zlib.decompress(body)
        with self.changed:
            if self.path == "/v1/traces":
                self.have["spans"] += _spans(ExportTraceServiceRequest.FromString(body))
            elif self.path == "/v1/metrics":
                request = ExportMetricsServiceRequest.FromString(body)
                self.have["metrics"] += _metrics(request)
            elif self.path == "/v1/logs":
                self.have["logs"] += _logs(ExportLogsServiceRequest.FromString(body))
            self.changed.notify_all()
        self._answer(b"", "application/x-protobuf")

    def do_GET(self) -> None:
        query = urllib.parse.parse_qsl(urllib.parse.urlparse(self.path).query)
        wanted = {signal: int(count) for signal, count in query}
        with self.changed:
            self.changed.wait_for(
                lambda: all(len(self.have[name]) >= n for name, n in wanted.items()),
                DEADLINE_S,
            )
            answer = json.dumps(self.have).encode()
        self._answer(answer, "application/json")

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


def _spans(request: ExportTraceServiceRequest) -> Iterator[dict[str, Any]]:
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield {
                    "name": span.name,
                    "trace": span.trace_id.hex(),
                    "id": span.span_id.hex(),
                    "parent": span.parent_span_id.hex(),
                    "kind": span.kind,
                    "status": span.status.code,
                    "attributes": _attributes(span.attributes),
                    "events": [event.name for event in span.events],
                    "scope": _scope(scope),
                    "resource": _attributes(resource.resource.attributes),
                }


def _metrics(request: ExportMetricsServiceRequest) -> Iterator[dict[str, Any]]:
    for resource in request.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                yield {
                    "name": metric.name,
                    "sum": sum(point.as_int for point in metric.sum.data_points),
                    "resource": _attributes(resource.resource.attributes),
                }


def _logs(request: ExportLogsServiceRequest) -> Iterator[dict[str, Any]]:
    for resource in request.resource_logs:
        for scope in resource.scope_logs:
            for record in scope.log_records:
                yield {
                    "body": record.body.string_value,
                    "trace": record.trace_id.hex(),
                    "span": record.span_id.hex(),
                    "event": record.event_name,
                    "severity": record.severity_text,
                    "attributes": _attributes(record.attributes),
                    "scope": _scope(scope),
                }


def _scope(scope: Any) -> list[str]:
    return [scope.scope.name, scope.scope.version, scope.schema_url]


def _attributes(attributes: Iterable[Any]) -> dict[str, Any]:
    return {
        attribute.key: getattr(
            attribute.value, attribute.value.WhichOneof("value") or "string_value"
        )
        for attribute in attributes
        if attribute.value.WhichOneof("value") != "array_value"
    }


def main() -> None:
    """Serves until it is killed."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
