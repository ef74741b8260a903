"""What a worker costs over each transport: `python -m support.measure_transports`.

To be run in `tests`. Time from spawn to ready, private memory when idle, and the
worker's processor time for a small call with 16 under way; the transports take
turns, medians.
"""

from __future__ import annotations

import re
import statistics
import tempfile
import time
from pathlib import Path

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.values.encode import encode
from support.fake_host import FakeHost
from support.framed_conversation import FramedConversation

ROUNDS = 9
CALLS = 3000
IN_FLIGHT = 16
TOOLS = """
from typing import Any
from snakepit_bridge import tool

@tool
def echo(value: Any) -> Any:
    return value
"""


def main() -> None:
    """Measures and prints."""
    path = Path(tempfile.mkdtemp()) / "tools.py"
    path.write_text(TOOLS)
    found: dict[str, list[tuple[float, float, float]]] = {"grpc": [], "framed": []}
    for _ in range(ROUNDS):
        for transport, figures in found.items():
            figures.append(measure(path, transport))
    for transport, figures in found.items():
        start, memory, call = map(statistics.median, zip(*figures, strict=True))
        print(
            f"{transport}: ready after {start * 1e3:.0f} ms, "
            f"{memory:.1f} MB private, {call:.0f} us of processor time a call"
        )


def measure(tools: Path, transport: str) -> tuple[float, float, float]:
    """Returns seconds to ready, megabytes, and microseconds a call."""
    with FakeHost(tools, transport=transport) as worker:
        begun = time.perf_counter()
        worker.start()
        start = time.perf_counter() - begun
        conversation = worker.converse()
        conversation.call("echo", ["warm"])
        memory = private_memory(worker.pid)
        before = processor_time(worker.pid)
        image = encode(["x" * 100])
        for number in range(CALLS + IN_FLIGHT):
            if number < CALLS:
                call = pb.Call(call_id=10 + number, tool="echo", arguments=image)
                conversation.send(call=call)
            if number >= IN_FLIGHT:
                conversation.receive()
        spent = processor_time(worker.pid) - before
        assert isinstance(conversation, FramedConversation) == (transport == "framed")
        return start, memory, spent / CALLS * 1e6


def private_memory(pid: int) -> float:
    """Returns megabytes that no other process shares."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(map(int, re.findall(r"Private_\w+:\s+(\d+)", text))) / 1024


def processor_time(pid: int) -> float:
    """Returns seconds, of all threads."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


if __name__ == "__main__":
    main()
