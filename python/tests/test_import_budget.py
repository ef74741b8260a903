"""How much a worker imports before it is ready: that is most of its start."""

from __future__ import annotations

import subprocess
import sys
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

ROUND_TRIP = """
import sys
from snakepit_bridge._gen import bridge_pb2 as pb
assert "google.protobuf" not in sys.modules
frame = pb.HostFrame(call=pb.Call(call_id=7, trace_context={"a": "b"}))
assert ("google.protobuf.text_format" in sys.modules) is (sys.argv[1] == "public")
frame.call.attachment.name = "x"
again = pb.HostFrame.FromString(frame.SerializeToString())
assert again == frame and again.WhichOneof("frame") == "call"
assert type(again.call) is pb.Call
print(frame.SerializeToString().hex())
print(pb.FailureKind.Name(pb.FAILURE_KIND_LEAVING), pb.CANCEL_REASON_DEADLINE)
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


def test_messages_are_the_same_by_the_public_api_of_protobuf() -> None:
    in_c = round_trip("in C", {})
    public = round_trip("public", {"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"})
    assert in_c == public != ""


def round_trip(kind: str, env: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", ROUND_TRIP, kind],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout
