"""How much a worker imports before it is ready: that is most of its start."""

from __future__ import annotations

from pathlib import Path

from support.fake_host import FakeHost

# Modules, with those of an interpreter that runs nothing. It may be lowered; a module that
# raises it costs every start of every worker.
MOST_MODULES = 169

# What is imported when a worker says that it is ready: from then on it imports more, as soon
# as it has nothing else to do.
TOOLS = """\
import sys

from snakepit_bridge import tool
from snakepit_bridge.boot.control_channel import ControlChannel

when_ready = []

def ready(channel, facts):
    when_ready[:] = sys.modules
    say_ready(channel, facts)

say_ready, ControlChannel.ready = ControlChannel.ready, ready

@tool
def add(a: int, b: int = 1) -> int:
    return a + b

@tool
def imported() -> list[str]:
    return when_ready
"""

COLLECTS = """\
import gc

from snakepit_bridge import tool

enabled = gc.isenabled()

@tool
def collects() -> list[bool]:
    return [enabled, gc.isenabled()]
"""
WITHOUT_COLLECTOR = """\
import gc, runpy

gc.disable()
runpy.run_module("snakepit_bridge", run_name="__main__", alter_sys=True)
"""


def test_a_framed_worker_imports_little_before_it_is_ready(tmp_path: Path) -> None:
    tools = tmp_path / "tools.py"
    tools.write_text(TOOLS)
    shared = {"directory": str(tmp_path), "fromBytes": 1 << 16, "limitBytes": 1 << 30}
    page = str(tmp_path / "page")
    with FakeHost(
        tools, transport="framed", callPage=page, sharedMemory=shared
    ) as host:
        imported = host.start().converse().call("imported")
    assert len(imported) <= MOST_MODULES, "\n".join(sorted(imported))
    for expensive in (
        "google.protobuf",
        "opentelemetry.trace",
        "numpy",
        "asyncio",
        "enum",
        "json",
        "logging",
        "re",
        "traceback",
        "typing",
        "inspect",
        "ssl",
        "grpc",
        "snakepit_bridge.calls.memory.segments",
        "snakepit_bridge.calls.context.input_stream",
    ):
        assert expensive not in imported


def test_the_garbage_collector_is_off_for_the_bridges_own_imports_only(
    tmp_path: Path,
) -> None:
    tools = tmp_path / "tools.py"
    tools.write_text(COLLECTS)
    with FakeHost(tools, transport="framed") as host:
        assert host.start().converse().call("collects") == [True, True]
    with FakeHost(tools, transport="framed") as host:
        host.program = ["-u", "-c", WITHOUT_COLLECTOR]
        assert host.start().converse().call("collects") == [False, False]
