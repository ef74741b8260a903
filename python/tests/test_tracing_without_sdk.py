"""Without OpenTelemetry nothing of it is looked for, and without an SDK it is quiet."""

from __future__ import annotations

from contextvars import copy_context
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from unittest.mock import Mock

import pytest
from conftest import Host
from opentelemetry import trace
from support.conversation import Conversation
from support.fake_host import FakeHost
from support.trace_context import (
    CONTEXT,
    IN_MEMORY,
    PARENT_ID,
    TRACE_ID,
    finished_spans,
)

from snakepit_bridge.boot.launch_message import TelemetrySetting
from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.calls.context.call import Call
from snakepit_bridge.telemetry.otel_tracing import OtelTracing
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.values.encode import encode

MODULES = ("exceptions", "otel_tracing", "sdk")

TOOLS = """
    import logging
    import sys
    from typing import Any
    from snakepit_bridge import current_call, tool

    @tool
    def imported() -> list[str]:
        return [name for name in sys.modules if name.startswith("opentelemetry")]

    @tool
    def looked_for() -> list[str]:
        return getattr(sys, "looked_for", [])

    @tool
    def logs() -> None:
        logging.info("written")

    @tool
    def asks() -> Any:
        return current_call().host("answer")

    @tool
    def fails() -> None:
        raise ValueError("on purpose")
"""

# Stands in front of what is installed, as if it were not.
NOT_INSTALLED = """
import sys

sys.looked_for = []

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "opentelemetry":
            sys.looked_for.append(name)
            raise ModuleNotFoundError(f"No module named {name!r}", name="opentelemetry")
        return None

sys.meta_path.insert(0, NotInstalled())
"""

BROKEN = """
import sys

# A part of it that cannot be imported.
sys.modules["opentelemetry.baggage"] = None
"""


def with_site(worker: FakeHost, directory: Path, source: str) -> FakeHost:
    """Has the interpreter run some code before all else."""
    directory.mkdir()
    (directory / "sitecustomize.py").write_text(source, encoding="utf-8")
    worker.environment["PYTHONPATH"] = str(directory)
    return worker


def carried(conversation: Conversation) -> tuple[str, dict[str, str]]:
    """Returns the current span as a record names it, and a back-call's context."""
    conversation.call("logs", trace_context=CONTEXT)
    log = conversation.logs.get_nowait()
    assert log.trace_id == TRACE_ID
    call_id = conversation.begin("asks", trace_context=CONTEXT)
    host_call = conversation.receive().host_call
    answer = pb.HostResult(host_call_id=host_call.host_call_id, value=encode(None))
    conversation.send(host_result=answer)
    conversation.terminal(call_id)
    assert "ValueError" in conversation.failure("fails", trace_context=CONTEXT).message
    return log.span_id, dict(host_call.trace_context)


def test_where_it_is_not_installed_it_is_looked_for_once(
    host: Host, tmp_path: Path
) -> None:
    worker = with_site(host(TOOLS), tmp_path / "site", NOT_INSTALLED)
    worker.environment["OTEL_TRACES_EXPORTER"] = "console"
    conversation = worker.start().converse()
    assert conversation.call("imported") == []
    assert conversation.call("looked_for") == ["opentelemetry"]
    assert carried(conversation) == (PARENT_ID, {})
    assert conversation.call("imported") == []
    assert conversation.call("looked_for") == ["opentelemetry"]
    assert conversation.logs.empty()
    worker.signal(15)
    assert worker.exit_status() == 0
    assert worker.stderr() == ""


def test_with_the_api_alone_a_tool_runs_in_the_span_of_its_caller(start: Host) -> None:
    conversation = start(TOOLS).converse()
    # Nothing needs it before the first call that has a context.
    assert "opentelemetry.trace" not in conversation.call("imported")
    assert carried(conversation) == (PARENT_ID, CONTEXT)
    imported = conversation.call("imported")
    assert "opentelemetry.trace" in imported
    assert not any(name.startswith("opentelemetry.sdk") for name in imported)
    assert conversation.logs.empty()


def test_an_sdk_that_a_tool_brings_late_has_the_spans_from_then_on(start: Host) -> None:
    tools = IN_MEMORY.replace(
        "trace.set_tracer_provider(provider)",
        """@tool
    def work() -> None:
        pass

    @tool
    def bring_sdk() -> None:
        trace.set_tracer_provider(provider)
""",
    )
    conversation = start(tools).converse()
    conversation.call("work")
    assert finished_spans(conversation) == {}
    conversation.call("bring_sdk")
    conversation.call("work")
    assert list(finished_spans(conversation)) == ["work"]


def test_an_installation_that_is_broken_is_told_and_done_without(
    host: Host, tmp_path: Path
) -> None:
    conversation = with_site(host(TOOLS), tmp_path / "site", BROKEN).start().converse()
    conversation.call("imported", trace_context=CONTEXT)
    warning = conversation.logs.get(timeout=30)
    assert warning.level == 30
    assert "opentelemetry.baggage" in warning.message
    assert carried(conversation) == (PARENT_ID, {})
    assert conversation.logs.empty()


def test_only_four_modules_import_it() -> None:
    package = Path(__file__).parents[1] / "src" / "snakepit_bridge"
    importing = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "import opentelemetry" in (text := path.read_text(encoding="utf-8"))
        or "from opentelemetry" in text
    }
    assert importing == {f"telemetry/{name}.py" for name in MODULES}


def spans_begun(monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]) -> int:
    """Returns how many spans a call begins in this process, which has no SDK set up."""
    tracing = OtelTracing("w-0", "r-1", TelemetrySetting({}))
    tracer = Mock(wraps=tracing._tracer)
    monkeypatch.setattr(tracing, "_tracer", tracer)
    kind = SimpleNamespace(value="function")
    tool = SimpleNamespace(name="t", qualified_name="tools.t", kind=kind)
    call = SimpleNamespace(trace_context=headers, call_id=1)
    begin = partial(tracing.begin, cast(Tool, tool), cast(Call, call))
    assert copy_context().run(begin) is None
    begun: int = tracer.start_span.call_count
    return begun


def test_without_a_provider_no_span_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    assert spans_begun(monkeypatch, {}) == 0
    assert spans_begun(monkeypatch, {"traceparent": CONTEXT["traceparent"]}) == 0


def test_where_nobody_knows_whether_there_is_a_provider_a_span_is_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(trace, "_TRACER_PROVIDER")
    # It is looked for there, too, as a new API would have it elsewhere.
    monkeypatch.setattr(trace, "get_tracer", trace.NoOpTracerProvider().get_tracer)
    assert spans_begun(monkeypatch, {}) == 1
    assert spans_begun(monkeypatch, {"traceparent": CONTEXT["traceparent"]}) == 1
