"""Whatever an SDK does, calls do not notice; and it does it in no thread of ours."""

from __future__ import annotations

import pytest
from conftest import Host
from support.trace_context import CONTEXT, PARENT_ID, TRACE_ID

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.values.encode import encode

PROVIDER = """
    import logging
    import sys
    import threading
    from collections.abc import Iterator
    from opentelemetry import trace
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
    from opentelemetry.sdk.trace.sampling import Sampler
    from snakepit_bridge import current_call, tool

    tracer = trace.get_tracer("user")

    @tool
    def works(n: int) -> int:
        logging.info("works")
        return n

    @tool
    async def works_later(n: int) -> int:
        return n

    @tool
    def streams(n: int) -> Iterator[int]:
        yield n

    @tool
    def fails() -> None:
        raise ValueError("on purpose")

    @tool(input=int)
    def waits() -> None:
        sys.stderr.write("begun\\n")
        next(current_call().input)

    @tool
    def shuts_down(n: int) -> int:
        trace.get_tracer_provider().shutdown()
        return n
"""

BAD = {
    "a processor that raises at a span's start": """
    class Bad(SpanProcessor):
        def on_start(self, span, parent_context=None):
            raise RuntimeError("bad telemetry")

    provider = TracerProvider()
    provider.add_span_processor(Bad())
    trace.set_tracer_provider(provider)
""",
    "a processor that raises at a span's end": """
    class Bad(SpanProcessor):
        def on_end(self, span):
            sys.exit("bad telemetry")

    provider = TracerProvider()
    provider.add_span_processor(Bad())
    trace.set_tracer_provider(provider)
""",
    "a sampler that raises": """
    class Bad(Sampler):
        def should_sample(self, *args, **kwargs):
            raise RuntimeError("bad telemetry")

        def get_description(self):
            return "bad"

    trace.set_tracer_provider(TracerProvider(sampler=Bad()))
""",
    "an exporter that raises": """
    class Bad(SpanExporter):
        def export(self, spans):
            raise RuntimeError("bad telemetry")

    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(Bad()))
    trace.set_tracer_provider(provider)
""",
    "a provider that raises at its end": """
    class Bad(TracerProvider):
        def shutdown(self):
            raise RuntimeError("bad telemetry")

    trace.set_tracer_provider(Bad(shutdown_on_exit=False))
""",
}

THREADS = """
    class Names(SpanProcessor):
        def __init__(self):
            self.names = []

        def on_start(self, span, parent_context=None):
            self.names.append(threading.current_thread().name)

        def on_end(self, span):
            self.names.append(threading.current_thread().name)

        def shutdown(self):
            print("shut down in", threading.current_thread().name)

    names = Names()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(names)
    trace.set_tracer_provider(provider)

    @tool
    def threads() -> list[str]:
        return sorted({name.rstrip("0123456789") for name in names.names})
"""


@pytest.mark.parametrize("calls_per_worker", [1, 2])
@pytest.mark.parametrize("what", BAD)
def test_no_call_is_affected_and_it_is_said_once(
    start: Host, what: str, calls_per_worker: int
) -> None:
    worker = start(PROVIDER + BAD[what], callsPerWorker=calls_per_worker)
    conversation = worker.converse()
    for n in range(3):
        assert conversation.call("works", [n], trace_context=CONTEXT) == n
        assert conversation.call("works_later", [n], trace_context=CONTEXT) == n
        call_id = conversation.begin(
            "streams", [n], stream_credit=9, trace_context=CONTEXT
        )
        assert conversation.chunk() == n
        assert conversation.terminal(call_id).HasField("end")
        failure = conversation.failure("fails", trace_context=CONTEXT)
        assert failure.message == "ValueError: on purpose"
    worker.signal(15)
    assert worker.exit_status() == 0
    records = [conversation.logs.get() for _ in range(conversation.logs.qsize())]
    works = [record for record in records if record.message == "works"]
    assert len(works) == 3
    assert {record.trace_id for record in works} == {TRACE_ID}
    ours = [record for record in records if record.logger.startswith("snakepit")]
    # The SDK's processors catch what an exporter raises, and say so themselves.
    assert len(ours) == (0 if "exporter" in what else 1)
    assert all("bad telemetry" in r.message + r.traceback for r in ours)


def test_an_sdk_that_is_shut_down_in_the_middle_of_a_call(start: Host) -> None:
    tools = PROVIDER + BAD["an exporter that raises"]
    conversation = start(tools).converse()
    assert conversation.call("shuts_down", [1], trace_context=CONTEXT) == 1
    assert conversation.call("works", [2], trace_context=CONTEXT) == 2


def test_a_span_that_cannot_begin_leaves_the_callers_context(start: Host) -> None:
    conversation = start(PROVIDER + BAD["a sampler that raises"]).converse()
    conversation.call("works", [1], trace_context=CONTEXT)
    records = [conversation.logs.get() for _ in range(conversation.logs.qsize())]
    (record,) = [record for record in records if record.message == "works"]
    assert (record.trace_id, record.span_id) == (TRACE_ID, PARENT_ID)


@pytest.mark.parametrize(("calls", "used"), [(1, ["MainThread"]), (2, ["tool-"])])
def test_spans_begin_and_end_in_the_threads_of_tools(
    start: Host, calls: int, used: list[str]
) -> None:
    worker = start(PROVIDER + THREADS, callsPerWorker=calls)
    conversation = worker.converse()
    # One that ends in its turn, one whose end is in the bridge's thread.
    running = [conversation.begin("waits", has_input=True) for _ in range(calls)]
    worker.wait_for_stderr("begun\n" * calls)
    waiting = conversation.begin("works", [1])
    conversation.cancel(waiting)
    assert not conversation.terminal(waiting).failure.began
    for call_id in running:
        item = pb.Input(call_id=call_id, value=encode(1))
        conversation.send(input=item)
        assert conversation.terminal(call_id).HasField("result")
    assert conversation.call("threads") == used
    worker.signal(15)
    assert worker.exit_status() == 0
    assert "shut down in Thread-" in worker.stdout()
