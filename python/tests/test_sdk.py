"""An SDK that `OTEL_*` asks for: configured once, flushed in time, in nobody's way."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from conftest import Host
from support.fake_host import FakeHost
from support.otlp_receiver import Receiver, receiver
from support.trace_context import (
    CONTEXT,
    IN_MEMORY,
    PARENT_ID,
    TRACE_ID,
    finished_spans,
)

from snakepit_bridge._version import __version__
from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.telemetry.names import SCHEMA_URL
from snakepit_bridge.telemetry.sdk import resource_attributes

TOOLS = """
    import logging
    import os
    from collections.abc import AsyncIterator, Iterator
    from opentelemetry import metrics, trace
    from snakepit_bridge import on_shutdown, tool

    tracer = trace.get_tracer("user")
    counter = metrics.get_meter("user").create_counter("seen")

    def work() -> None:
        with tracer.start_as_current_span("inside"):
            logging.info("logged")
            counter.add(1)

    @tool
    def function() -> None:
        work()

    @tool
    async def coroutine() -> None:
        work()

    @tool
    def generator() -> Iterator[int]:
        with tracer.start_as_current_span("around"):
            yield 1

    @tool
    async def async_generator() -> AsyncIterator[int]:
        with tracer.start_as_current_span("around"):
            yield 1

    @tool
    def fails() -> None:
        raise ValueError("on purpose")

    @tool
    def sdk_variables() -> list[str]:
        return sorted(name for name in os.environ if name.startswith("OTEL_"))

    @on_shutdown
    def stop() -> None:
        with tracer.start_as_current_span("stop"):
            pass
"""

# What a host would do is the same for every signal; this is the SDK's own switch.
LOGS_TOO = {"OTEL_PYTHON_LOGGING_AUTO_INSTRUMENTATION_ENABLED": "true"}


@pytest.fixture
def otlp() -> Iterator[Receiver]:
    """A receiver that works."""
    with receiver() as running:
        yield running


def starting(worker: FakeHost, **environment: str) -> FakeHost:
    """Starts a worker with more variables."""
    worker.environment.update(environment)
    return worker.start()


def leave(worker: FakeHost) -> float:
    """Has the worker leave; returns the seconds that it took."""
    began = time.monotonic()
    worker.signal(signal.SIGTERM)
    assert worker.exit_status() == 0
    return time.monotonic() - began


@pytest.mark.parametrize("calls_per_worker", [1, 2])
def test_traces_metrics_and_logs_arrive_when_the_worker_leaves(
    host: Host, otlp: Receiver, calls_per_worker: int
) -> None:
    worker = starting(
        host(TOOLS, callsPerWorker=calls_per_worker),
        OTEL_EXPORTER_OTLP_ENDPOINT=otlp.endpoint,
        OTEL_SERVICE_NAME="shop",
        **LOGS_TOO,
    )
    conversation = worker.converse()
    for tool in ("function", "coroutine"):
        conversation.call(tool, trace_context=CONTEXT)
    for tool in ("generator", "async_generator"):
        call_id = conversation.begin(tool, stream_credit=9, trace_context=CONTEXT)
        assert conversation.terminal(call_id).HasField("end")
    conversation.failure("fails", trace_context=CONTEXT)
    leave(worker)
    received = otlp.received(spans=10, metrics=1, logs=2)

    spans = {span["name"]: span for span in received["spans"]}
    tools = ["function", "coroutine", "generator", "async_generator", "fails"]
    for tool in tools:
        assert spans[tool]["trace"] == TRACE_ID
        assert spans[tool]["parent"] == PARENT_ID
        assert spans[tool]["kind"] == 2  # SERVER
        assert spans[tool]["resource"]["service.name"] == "shop"
        assert spans[tool]["resource"]["service.instance.id"] == "test123-1"
        assert spans[tool]["resource"]["process.pid"] == worker.pid
        assert spans[tool]["resource"]["host.name"] == socket.gethostname()
        assert spans[tool]["scope"] == ["snakepit_bridge", __version__, SCHEMA_URL]
    assert [spans[tool]["status"] for tool in tools] == [0, 0, 0, 0, 2]
    assert spans["fails"]["attributes"]["error.type"] == "ValueError"
    assert spans["fails"]["events"] == ["exception"]
    names = sorted(span["name"] for span in received["spans"])
    assert names == sorted([*tools, "inside", "inside", "around", "around", "stop"])
    parents = {
        s["parent"] for s in received["spans"] if s["name"] in ("inside", "around")
    }
    assert parents == {spans[tool]["id"] for tool in tools[:4]}

    seen = [metric for metric in received["metrics"] if metric["name"] == "seen"]
    assert [metric["sum"] for metric in seen] == [2]
    inside = {s["id"] for s in received["spans"] if s["name"] == "inside"}
    logged = [log for log in received["logs"] if log["body"] == "logged"]
    assert {log["span"] for log in logged} == inside
    assert {log["trace"] for log in logged} == {TRACE_ID}


def test_a_batch_is_sent_in_its_own_time_too(host: Host, otlp: Receiver) -> None:
    worker = starting(
        host(TOOLS),
        OTEL_TRACES_EXPORTER="otlp",
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"{otlp.endpoint}/v1/traces",
        OTEL_BSP_SCHEDULE_DELAY="50",
    )
    conversation = worker.converse()
    call_id = conversation.begin("generator", stream_credit=0, trace_context=CONTEXT)
    conversation.send(credit=pb.Credit(call_id=call_id, chunks=1))
    conversation.chunk()
    conversation.cancel(call_id)
    conversation.terminal(call_id)
    # Not one that leaves: the batch is sent when its time has come.
    received = otlp.received(spans=2)
    span = next(s for s in received["spans"] if s["name"] == "generator")
    assert span["attributes"]["snakepit.call.cancel_reason"] == "caller"
    assert span["status"] == 0


@pytest.mark.parametrize(
    ("opt_in", "events", "records"),
    [("", 1, 0), ("unknown", 1, 0), ("logs", 0, 1), ("logs/dup", 1, 1)],
)
def test_an_exception_is_recorded_once_for_each_signal_that_is_chosen(
    host: Host, otlp: Receiver, opt_in: str, events: int, records: int
) -> None:
    worker = starting(
        host(TOOLS),
        OTEL_EXPORTER_OTLP_ENDPOINT=otlp.endpoint,
        OTEL_SEMCONV_EXCEPTION_SIGNAL_OPT_IN=opt_in,
    )
    worker.converse().failure("fails", trace_context=CONTEXT)
    leave(worker)
    received = otlp.received(spans=1, logs=records)
    span = next(span for span in received["spans"] if span["name"] == "fails")
    assert span["events"] == ["exception"] * events
    assert span["status"] == 2
    assert span["attributes"]["error.type"] == "ValueError"
    assert len(received["logs"]) == records
    for record in received["logs"]:
        assert record["event"] == "rpc.server.call.exception"
        assert (record["trace"], record["span"]) == (TRACE_ID, span["id"])
        assert record["severity"] == "ERROR"
        assert record["body"] == "ValueError: on purpose"
        assert record["scope"] == ["snakepit_bridge", __version__, SCHEMA_URL]
        attributes = record["attributes"]
        assert attributes.keys() == {
            "exception.type",
            "exception.message",
            "exception.stacktrace",
        }
        assert attributes["exception.type"] == "ValueError"
        assert "on purpose" in attributes["exception.stacktrace"]


def test_a_worker_has_the_service_that_the_host_names(
    host: Host, otlp: Receiver
) -> None:
    worker = starting(
        host(TOOLS, telemetry={"serviceName": "shop-workers", "instrument": False}),
        OTEL_EXPORTER_OTLP_ENDPOINT=otlp.endpoint,
        # Of the host, whose variables a worker inherits.
        OTEL_SERVICE_NAME="shop",
        OTEL_RESOURCE_ATTRIBUTES="service.namespace=store,host.name=mine",
    )
    worker.converse().call("function", trace_context=CONTEXT)
    leave(worker)
    (span, *_) = otlp.received(spans=2)["spans"]
    resource = span["resource"]
    assert resource["service.name"] == "shop-workers"
    assert resource["service.namespace"] == "store"
    assert resource["host.name"] == "mine"


def test_what_the_variables_say_of_the_resource_is_kept() -> None:
    environ = {"OTEL_RESOURCE_ATTRIBUTES": "process.pid=1, service.instance.id = a"}
    assert resource_attributes(environ, "run-1", None) == {
        "host.name": socket.gethostname()
    }
    assert resource_attributes({}, "run-1", "shop-workers") == {
        "host.name": socket.gethostname(),
        "process.pid": os.getpid(),
        "service.instance.id": "run-1",
        "service.name": "shop-workers",
    }


USES_SQLITE = """
    import sqlite3
    from snakepit_bridge import tool

    @tool
    def count() -> int:
        cursor = sqlite3.connect(":memory:").cursor()
        cursor.execute("select 1 + 1")
        return cursor.fetchone()[0]
"""


@pytest.mark.parametrize(
    ("instruments", "disabled", "spans"),
    [(True, "", 2), (True, "requests, sqlite3", 1), (True, "*", 1), (False, "", 1)],
)
def test_installed_instrumentors_run_if_the_host_wants_it(
    host: Host, otlp: Receiver, instruments: bool, disabled: str, spans: int
) -> None:
    worker = starting(
        host(USES_SQLITE, telemetry={"instrument": instruments}),
        OTEL_EXPORTER_OTLP_ENDPOINT=otlp.endpoint,
        OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=disabled,
    )
    conversation = worker.converse()
    assert conversation.call("count", trace_context=CONTEXT) == 2
    leave(worker)
    assert conversation.logs.empty()
    received = otlp.received(spans=spans)["spans"]
    tool = next(span for span in received if span["name"] == "count")
    children = [span for span in received if span["parent"] == tool["id"]]
    assert len(received) == spans
    assert [span["scope"][0] for span in children] == [
        "opentelemetry.instrumentation.sqlite3"
    ] * (spans - 1)


def test_instrumentors_without_an_sdk_are_told(host: Host) -> None:
    worker = host(USES_SQLITE, telemetry={"instrument": True}).start()
    conversation = worker.converse()
    assert conversation.call("count") == 2
    record = conversation.logs.get(timeout=30)
    assert record.level == 30
    assert "set OTEL_EXPORTER_OTLP_ENDPOINT" in record.message


BROKEN = """
    import importlib.metadata
    from snakepit_bridge import tool
    import snakepit_bridge.telemetry.instrumentors as instrumentors

    class Broken:
        def instrument(self, **options: object) -> None:
            raise RuntimeError("no library has this")

    class Point:
        name = "broken"
        def load(self) -> type:
            return Broken

    class Gone(Point):
        name = "gone"
        def load(self) -> type:
            raise ModuleNotFoundError("the library is not installed")

    instrumentors.entry_points = lambda group: [Gone(), Point()]

    @tool
    def fine() -> bool:
        return True
"""


def test_an_instrumentor_that_fails_is_told_and_harms_nothing(
    host: Host, otlp: Receiver
) -> None:
    worker = starting(
        host(BROKEN, telemetry={"instrument": True}),
        OTEL_EXPORTER_OTLP_ENDPOINT=otlp.endpoint,
    )
    conversation = worker.converse()
    assert conversation.call("fine") is True
    record = conversation.logs.get(timeout=30)
    assert record.level == 40
    assert record.message == "the instrumentor broken failed"
    assert "no library has this" in record.traceback
    assert conversation.logs.empty()


def test_what_tools_start_sees_the_environment_unchanged(
    host: Host, otlp: Receiver
) -> None:
    worker = starting(host(TOOLS), OTEL_EXPORTER_OTLP_ENDPOINT=otlp.endpoint)
    conversation = worker.converse()
    assert conversation.call("sdk_variables") == ["OTEL_EXPORTER_OTLP_ENDPOINT"]


def test_what_the_tools_configure_themselves_stays(host: Host, otlp: Receiver) -> None:
    tools = IN_MEMORY.replace(
        "trace.set_tracer_provider(provider)",
        """from snakepit_bridge import on_startup

    @on_startup
    def configure() -> None:
        trace.set_tracer_provider(provider)

    @tool
    def function() -> None:
        pass
""",
    )
    worker = starting(host(tools), OTEL_EXPORTER_OTLP_ENDPOINT=otlp.endpoint)
    conversation = worker.converse()
    conversation.call("function", trace_context=CONTEXT)
    assert finished_spans(conversation)["function"]["parent"] == PARENT_ID
    assert conversation.logs.empty()
    leave(worker)
    assert otlp.received() == {"spans": [], "metrics": [], "logs": []}


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"OTEL_TRACES_EXPORTER": "nonsense"}, "nonsense"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "nonsense", "OTEL_SDK_DISABLED": "True"}, ""),
    ],
)
def test_a_configuration_that_is_wrong_is_told_and_harms_nothing(
    host: Host, environment: dict[str, str], words: str
) -> None:
    worker = starting(host(TOOLS), **environment)
    conversation = worker.converse()
    conversation.call("function", trace_context=CONTEXT)
    first = conversation.logs.get(timeout=30)
    if words:
        assert first.level == 40
        assert "@on_startup" in first.message and words in first.traceback
        first = conversation.logs.get(timeout=30)
    assert first.message == "logged"
    leave(worker)


def test_a_receiver_that_is_down_delays_no_call_and_no_end(host: Host) -> None:
    with receiver() as gone:
        endpoint = gone.endpoint
    worker = starting(
        host(TOOLS, logLevel=50), OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, **LOGS_TOO
    )
    conversation = worker.converse()
    for _ in range(100):
        conversation.call("function", trace_context=CONTEXT)
    assert leave(worker) < 15


def test_a_receiver_that_never_answers_is_waited_for_within_the_grace(
    host: Host,
) -> None:
    with receiver("silent") as silent:
        worker = starting(
            host(TOOLS),
            OTEL_EXPORTER_OTLP_ENDPOINT=silent.endpoint,
            # Of the SDK's own; what ends the wait must be the worker's.
            OTEL_EXPORTER_OTLP_TIMEOUT="600",
            **LOGS_TOO,
        )
        conversation = worker.converse()
        conversation.call("function", trace_context=CONTEXT)
        assert leave(worker) < 15
        messages = [conversation.logs.get(timeout=30).message]
        while not conversation.logs.empty():
            messages.append(conversation.logs.get().message)
        assert "some telemetry was not sent within 1 s" in messages


def test_nothing_of_an_sdk_is_there_before_the_worker_is(otlp: Receiver) -> None:
    program = """
import sys, threading
import snakepit_bridge.bridge.serving
from snakepit_bridge.telemetry.find_tracing import find_tracing
from snakepit_bridge.boot.launch_message import TelemetrySetting
assert find_tracing("pool-0", "run-1", TelemetrySetting({})) is not None
assert not any(name.startswith("opentelemetry.sdk") for name in sys.modules)
assert threading.active_count() == 1
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"OTEL_EXPORTER_OTLP_ENDPOINT": otlp.endpoint},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("flags", "baggage", "loads"),
    [("01", {}, True), ("00", {}, False), ("00", {"baggage": "a=b"}, True)],
)
def test_a_call_that_is_not_sampled_loads_nothing_unless_tools_use_opentelemetry(
    flags: str, baggage: dict[str, str], loads: bool
) -> None:
    program = f"""
import sys
from types import SimpleNamespace
from snakepit_bridge.boot.launch_message import TelemetrySetting
from snakepit_bridge.telemetry.find_tracing import find_tracing

tracing = find_tracing("pool-0", "run-1", TelemetrySetting({{}}))
parent = "00-" + "a" * 32 + "-" + "b" * 16
call = SimpleNamespace(trace_context={{"traceparent": parent + "-{flags}", **{baggage}}})
tracing.begin(None, call)
assert ("opentelemetry.trace" in sys.modules) is {loads}

from opentelemetry import trace

tracing.begin(None, call)
current = trace.get_current_span().get_span_context()
assert f"00-{{current.trace_id:032x}}-{{current.span_id:016x}}" == parent
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
