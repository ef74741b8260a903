"""A worker's parts that calls need, with the main thread played by the test."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from snakepit_bridge import current_call, tool
from snakepit_bridge.bridge.call_intake import CallIntake
from snakepit_bridge.bridge.call_table import CallTable
from snakepit_bridge.bridge.frame_codec import encode_frame, packed_name
from snakepit_bridge.bridge.framed_transport.frame_parser import FRAME, framed
from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.calls.memory.call_page import CallPage
from snakepit_bridge.calls.run.running_call import RunningCall, TerminalFrame
from snakepit_bridge.calls.run.serial_queue import SerialQueue
from snakepit_bridge.frames import Log, WorkerFrame
from snakepit_bridge.tools.toolbox import Toolbox
from snakepit_bridge.values.encode import encode
from support.packed_frames import parse_worker_frame

SEEN: ContextVar[int] = ContextVar("seen", default=0)
US = 1000


class Outbox:
    """Notes which answers left together."""

    most_held = 8

    def __init__(self) -> None:
        self.held = False
        self.waiting: list[bytes] = []
        self.added: list[bytes] = []
        self.sent: list[list[pb.WorkerFrame]] = []

    def add(self, frame: bytes) -> None:
        self.waiting.append(frame)
        self.added.append(frame)

    def put_last(self, frame: TerminalFrame) -> None:
        self.put(frame)

    def put(self, frame: WorkerFrame | bytes) -> None:
        self.waiting.append(
            frame if isinstance(frame, bytes) else framed(FRAME, encode_frame(frame))
        )
        if not self.held:
            self.send_added()

    def send_added(self) -> None:
        if self.waiting:
            frames = [parse_worker_frame(data[5:]) for data in self.waiting]
            self.sent.append(frames)
            self.waiting = []

    @property
    def logs_waiting(self) -> int:
        return 0

    def put_log(self, _log: Log) -> bool:
        return True


class MainThread:
    """Does what it was asked to when the test says so."""

    def __init__(self, bench: Bench) -> None:
        self.one_at_a_time = False
        self.coalescer: Any = SimpleNamespace(progress=0, hold=bench.hold)
        self.work: list[Callable[[], None]] = []
        self.for_loop: list[Callable[[], None]] = []
        self.submit = self.work.append
        self.submit_to_loop = self.for_loop.append
        self.keep_loop_current = bench.after_loop

    def run(self) -> None:
        while self.work:
            self.work.pop(0)()


class Bench:
    """A worker's parts that calls need."""

    def __init__(self, path: Path) -> None:
        self.now_ns = 5_000_000
        # The numbers of the calls that were still running at each `after_loop`.
        self.after_loops: list[list[int]] = []
        # The calls that were given to the loop, with their contexts and awaitables.
        self.going_on: list[Any] = []
        # How often tasks were started.
        self.tasks_started = 0
        self.outbox = Outbox()
        self.page = CallPage(str(path / "page"))
        self.table = CallTable(self.outbox, 1 << 16, page=self.page)
        table: Any = self.table
        self.main = MainThread(self)
        main: Any = self.main
        self.coalescer = main.coalescer
        self.queue = SerialQueue(
            main,
            copy_context(),
            table,
            lambda *going_on: self.going_on.append(going_on),
            self.start_tasks,
            lambda: self.now_ns,
        )
        self.waiting: deque[Any] = self.queue.waiting
        self.table.withdraw = self.queue.withdraw
        box = Toolbox()
        module: Any = SimpleNamespace(**self.functions(), __name__="tools")
        box.add(module, None)
        self.tools = {
            packed_name(name): (each, RunningCall) for name, each in box.tools.items()
        }
        self.intake = CallIntake(self.table, self.tools)
        self.intake.begin(self.queue)
        # Whether another thread sends what is held back for too long.
        self.is_watched = False
        self.meanwhile: Callable[[], None] = lambda: None

    def functions(self) -> dict[str, Any]:
        @tool
        def takes(us: int) -> int:
            self.now_ns += us * US
            return us

        @tool
        def see() -> list[int]:
            before = SEEN.get()
            SEEN.set(before + 1)
            return [current_call().call_id, before]

        @tool
        def fail() -> None:
            raise ValueError("no")

        @tool
        def other() -> Any:
            self.meanwhile()
            return (1, 2)

        async def later() -> None: ...

        @tool
        def promise() -> Any:
            SEEN.set(7)
            return later()

        @tool
        async def waits() -> None: ...

        tools = {f.__name__: f for f in (takes, see, fail, other, promise, waits)}
        for each in tools.values():
            each.__module__ = "tools"
        return tools

    def after_loop(self) -> None:
        self.after_loops.append(list(self.table.running))

    def hold(self) -> None:
        self.outbox.held = self.is_watched = True

    def begins_by(self, begins: Callable[[int], bool]) -> None:
        """Replaces how calls are announced."""
        running, _, *others = self.queue._parts
        self.queue._parts = (running, begins, *others)  # type: ignore[assignment]

    def release(self) -> None:
        """What the bridge's thread does when the main thread is blocked."""
        self.outbox.held = self.is_watched = False
        self.outbox.send_added()

    def start_tasks(self) -> None:
        self.tasks_started += 1

    def submit(self, number: int, name: str, arguments: Any = None) -> Any:
        encoding = b"" if arguments is None else encode(arguments)
        sink: Any = self.table
        call = RunningCall.of(number, self.tools[packed_name(name)][0], encoding, sink)
        self.table.running[number] = call
        self.queue.submit(call)
        return call

    def run(self) -> list[list[Any]]:
        """Returns the numbers of the answers that left together."""
        self.main.run()
        return self.sent()

    def sent(self) -> list[list[Any]]:
        return [
            [getattr(each, str(each.WhichOneof("frame"))).call_id for each in frames]
            for frames in self.outbox.sent
        ]

    def frames(self) -> dict[int, Any]:
        return {
            number: getattr(frame, str(frame.WhichOneof("frame")))
            for frames in self.outbox.sent
            for number, frame in zip(
                [getattr(f, str(f.WhichOneof("frame"))).call_id for f in frames],
                frames,
                strict=True,
            )
        }
