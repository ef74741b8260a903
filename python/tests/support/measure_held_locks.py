"""Whether cancels leave locks held: `python -m support.measure_held_locks [PYTHON ...]`.

To be run in `python/tests`. For each load, pools of one worker cancel calls at random
moments; after each, a call that needs the same lock must return. Prints how many pools
have ended in a state in which it does not, and how long a cancel took.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from queue import Empty

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from support.conversation import Conversation
from support.fake_host import FakeHost

TOOLS = Path(__file__).parents[1] / "tools" / "holds_locks.py"
SOURCES = Path(__file__).parents[2] / "src"
LOADS = (
    "puts_and_gets",
    "logs_to_a_queue",
    "counts",
    "locks",
    "acquires_and_tries",
    "has_a_decorator",
    "finalizes",
)
DEADLINE_S = 5.0


class Stuck(Exception):
    """A call did not end, or found its lock held."""


def terminal(conversation: Conversation, call_id: int) -> pb.WorkerFrame:
    """Returns the terminal frame of a call, which must come soon."""
    while True:
        frame = conversation.receive(DEADLINE_S)
        kind = frame.WhichOneof("frame")
        if (
            kind in ("result", "failure")
            and getattr(frame, str(kind)).call_id == call_id
        ):
            return frame


def one_pool(
    python: str, load: str, cancels: int, seed: int, calls: int = 1, src: str = ""
) -> list[float]:
    """Cancels calls of one worker; returns how many milliseconds each cancel took.

    Raises:
        Stuck: with the number of the cancel.
    """
    chance = random.Random(seed)
    times = []
    given = {"callsPerWorker": calls, "silenceWarnMs": 3_600_000}
    fake = FakeHost(TOOLS, transport="framed", **given)
    fake.interpreter = python
    fake.environment["PYTHONPATH"] = src or str(SOURCES)
    with fake.start() as host:
        conversation = host.converse()
        for number in range(cancels):
            call = conversation.begin(load, [False])
            try:
                log = conversation.logs.get(timeout=DEADLINE_S)
            except Empty:
                raise Stuck(number, "did not begin") from None
            if log.call_id != call:
                raise Stuck(number, log.message)
            # A moment between two of its lines.
            until = time.perf_counter() + chance.uniform(0, 0.003)
            while time.perf_counter() < until:
                pass
            begun = time.perf_counter()
            conversation.cancel(call)
            try:
                terminal(conversation, call)
            except Empty:
                raise Stuck(number, "was not cancelled") from None
            times.append((time.perf_counter() - begun) * 1000)
            probe = conversation.begin(load, [True])
            try:
                frame = terminal(conversation, probe)
            except Empty:
                raise Stuck(number, "the next call did not end") from None
            if not frame.HasField("result"):
                raise Stuck(number, frame.failure.message)
    return times


def main(given: Sequence[str] | None = None) -> None:
    """Prints a row for each load and interpreter."""
    parser = argparse.ArgumentParser()
    parser.add_argument("python", nargs="*", default=[sys.executable])
    parser.add_argument("--pools", type=int, default=12)
    parser.add_argument("--cancels", type=int, default=1000)
    parser.add_argument("--calls-per-worker", type=int, default=1)
    parser.add_argument("--load", action="append")
    parser.add_argument("--src", default="", help="another version of the bridge")
    options = parser.parse_args(given)
    for python in options.python:
        for load in options.load or LOADS:
            times: list[float] = []
            stuck = []
            for pool in range(options.pools):
                try:
                    times += one_pool(
                        os.path.abspath(python),
                        load,
                        options.cancels,
                        pool,
                        options.calls_per_worker,
                        options.src,
                    )
                except Stuck as error:
                    stuck.append(error.args)
            tail = sorted(times)[int(len(times) * 0.99)] if times else 0
            middle = statistics.median(times) if times else 0
            worst = max(times, default=0)
            print(
                f"{Path(python).parts[-3]} {load:20} stuck {len(stuck)}/{options.pools} "
                f"p50 {middle:.2f} p99 {tail:.2f} max {worst:.1f} ms {stuck[:3]}",
                flush=True,
            )


if __name__ == "__main__":
    main()
