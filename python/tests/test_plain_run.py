"""Plain calls one after the other, and the bytes that they come in, without a process."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.compact_frames import compact, parse_worker_frame

from snakepit_bridge import current_call, tool
from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.call_table import CallTable
from snakepit_bridge.bridge.framed_transport.frame_parser import FRAME, SIGNAL, framed
from snakepit_bridge.bridge.plain_intake import PlainIntake
from snakepit_bridge.calls.call_page import CallPage
from snakepit_bridge.calls.call_state import CallState
from snakepit_bridge.calls.cancelled import CancelReason
from snakepit_bridge.calls.plain_call import PlainCall
from snakepit_bridge.calls.plain_run import PlainRun
from snakepit_bridge.tools.toolbox import Toolbox
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode

SEEN: ContextVar[int] = ContextVar("seen", default=0)
US = 1000


class Outbox:
    """Notes which answers left together."""

    most_held = 8

    def __init__(self) -> None:
        self.held = False
        self.waiting: list[bytes] = []
        self.sent: list[list[pb.WorkerFrame]] = []

    def add(self, frame: bytes) -> None:
        self.waiting.append(frame)

    def put_last(self, frame: pb.WorkerFrame | bytes) -> None:
        data = frame if isinstance(frame, bytes) else frame.SerializeToString()
        self.waiting.append(data if isinstance(frame, bytes) else framed(FRAME, data))
        self.send_added()

    put = put_last

    def send_added(self) -> None:
        if self.waiting:
            frames = [parse_worker_frame(data[5:]) for data in self.waiting]
            self.sent.append(frames)
            self.waiting = []

    @property
    def logs_waiting(self) -> int:
        return 0

    def put_log(self, _log: pb.Log) -> bool:
        return True


class Bench:
    """A worker's parts that plain calls need."""

    def __init__(self, path: Path) -> None:
        self.now_ns = 5_000_000
        self.waiting: deque[Any] = deque()
        self.outbox = Outbox()
        self.page = CallPage(str(path / "page"))
        self.table = CallTable(self.outbox, 1 << 16, page=self.page)
        self.table.withdraw = self.withdraw
        table: Any = self.table
        context = copy_context()
        gathering: Any = SimpleNamespace(progress=0)
        self.gathering = gathering
        self.plain_run = PlainRun(context, table, gathering, lambda: self.now_ns)
        turns: Any = SimpleNamespace(waiting=self.waiting, look=lambda: None)
        self.intake = PlainIntake(self.table, turns)
        box = Toolbox()
        module: Any = SimpleNamespace(**self.functions(), __name__="tools")
        box.add(module, None)
        self.tools = {name.encode(): each for name, each in box.tools.items()}
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

        for each in (takes, see, fail, other):
            each.__module__ = "tools"
        return {"takes": takes, "see": see, "fail": fail, "other": other}

    def withdraw(self, call: Any) -> bool:
        try:
            self.waiting.remove(call)
        except ValueError:
            return False
        return True

    def submit(self, number: int, name: str, arguments: Any = None) -> None:
        image = b"" if arguments is None else encode(arguments)
        sink: Any = self.table
        call = PlainCall.of(
            number, self.tools[name.encode()], image, sink, is_bare=True
        )
        self.table.running[number] = call
        self.waiting.append(call)

    def run(self) -> list[list[Any]]:
        """Returns the numbers of the answers that left together."""
        self.plain_run.run(self.waiting.popleft(), self.waiting)
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


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_answers_leave_together_but_none_waits_for_long(bench: Bench) -> None:
    for number, us in enumerate((100, 150, 1, 1, 251, 1), 1):
        bench.submit(number, "takes", [us])
    assert bench.run() == [[1, 2, 3], [4, 5], [6]]
    assert bench.gathering.progress == 6
    assert bench.table.running == {}


def test_no_more_than_so_many_answers_leave_together(bench: Bench) -> None:
    for number in range(1, 20):
        bench.submit(number, "takes", [0])
    assert [len(together) for together in bench.run()] == [8, 8, 3]


def test_a_call_begins_when_the_one_before_it_ends(bench: Bench) -> None:
    heads: list[tuple[int, ...]] = []
    add = bench.outbox.add

    def look(frame: bytes) -> None:
        heads.append(struct.unpack_from(">xIII", frame, 5))
        add(frame)

    bench.outbox.add = look  # type: ignore[method-assign]
    for number, us in ((1, 7), (2, 40)):
        bench.submit(number, "takes", [us])
    bench.run()
    assert heads == [(1, 5000, 7), (2, 5007, 40)]


def test_each_call_has_a_context_of_its_own(bench: Bench) -> None:
    for number in (1, 2, 3):
        bench.submit(number, "see")
    bench.run()
    values = [decode(frame.value) for frame in bench.frames().values()]
    assert values == [[1, 0], [2, 0], [3, 0]]


def test_an_answer_that_is_kept_is_in_the_page_while_the_next_call_runs(
    bench: Bench,
) -> None:
    bench.submit(1, "takes", {"us": 3})
    bench.submit(2, "other")
    kept: list[int] = []
    words = memoryview(bench.page._page).cast("Q")
    bench.meanwhile = lambda: kept.extend((words[0], words[2] & 0xFFFF))
    assert bench.run() == [[1, 2]]
    assert kept == [2, 5 + 13 + 1]


def test_what_a_call_sends_does_not_wait_with_the_answers_before_it(
    bench: Bench,
) -> None:
    bench.submit(1, "takes", [1])
    bench.submit(2, "other")
    bench.submit(3, "takes", [1])
    progress = pb.WorkerFrame(progress=pb.Progress(call_id=2))
    bench.meanwhile = lambda: bench.outbox.put(progress)
    assert bench.run() == [[1, 2], [2, 3]]


def test_what_was_taken_back_or_withdrawn_does_not_begin(bench: Bench) -> None:
    for number in range(1, 5):
        bench.submit(number, "takes", [number])
    # The host takes back 2 and lets 1 run; 3 is cancelled.
    memoryview(bench.page._page).cast("Q")[1] = 2 * 64 + 1
    bench.table.running[3].cancel(CancelReason.CALLER)
    bench.run()
    frames = bench.frames()
    assert [decode(frames[number].value) for number in (1, 4)] == [1, 4]
    assert frames[2].kind == pb.FAILURE_KIND_TAKEN_BACK
    assert frames[3].kind == pb.FAILURE_KIND_CANCELLED
    assert not frames[3].began
    assert bench.table.running == {}


def test_a_call_that_is_cancelled_as_it_begins_fails_and_does_not_run(
    bench: Bench,
) -> None:
    bench.submit(1, "takes", [1])
    call = bench.waiting.popleft()
    call.cancel(CancelReason.DEADLINE)
    assert call.state is CallState.WAITING
    bench.plain_run.run(call, bench.waiting)
    assert bench.frames()[1].kind == pb.FAILURE_KIND_CANCELLED
    assert bench.now_ns == 5_000_000


def test_errors_and_other_values_answer_as_any_call(bench: Bench) -> None:
    bench.submit(1, "fail")
    bench.submit(2, "other")
    bench.submit(3, "takes", ["x"])
    bench.run()
    frames = bench.frames()
    assert (frames[1].kind, frames[1].began) == (pb.FAILURE_KIND_TOOL_FAILED, True)
    assert decode(frames[2].value) == (1, 2)
    invalid = (frames[3].kind, frames[3].began)
    assert invalid == (pb.FAILURE_KIND_INVALID_ARGUMENTS, False)


def test_another_kind_of_call_is_left_to_whoever_runs_it(bench: Bench) -> None:
    bench.submit(1, "takes", [1])
    other: Any = SimpleNamespace()
    bench.waiting.append(other)
    assert bench.run() == [[1]]
    assert list(bench.waiting) == [other]


def test_a_handler_that_raises_in_the_bridge_ends_one_call_only(bench: Bench) -> None:
    bench.submit(1, "takes", [1])
    bench.submit(2, "takes", [2])

    def interrupted(_: int) -> bool:
        raise KeyboardInterrupt

    begins = bench.page.begins
    bench.page.begins = interrupted  # type: ignore[method-assign, assignment]
    with pytest.raises(KeyboardInterrupt):
        bench.run()
    bench.page.begins = begins  # type: ignore[method-assign]
    bench.run()
    frames = bench.frames()
    assert frames[1].error.type == "KeyboardInterrupt"
    assert decode(frames[2].value) == 2
    assert bench.table.running == {}


def call_frame(number: int, name: str, **more: Any) -> bytes:
    data = compact(pb.Call(call_id=number, tool=name, arguments=b"\x90", **more))
    assert data is not None
    return framed(FRAME, data)


@pytest.mark.parametrize(
    "other",
    [
        framed(SIGNAL, b"\0" * 20),
        framed(FRAME, pb.HostFrame(cancel=pb.Cancel(call_id=7)).SerializeToString()),
        call_frame(7, "see", timeout_ms=5),
        call_frame(7, "unknown"),
        call_frame(1, "see"),
        call_frame(7, "see")[:-1],
        call_frame(7, "see")[:11],
        framed(FRAME, b"\0" * 6),
        framed(FRAME, b"\0\0\0\0\7\xff\0see"),
        b"",
    ],
)
def test_plain_calls_are_taken_up_to_the_first_other_message(
    bench: Bench, other: bytes
) -> None:
    plain = call_frame(1, "see") + call_frame(2, "takes")
    assert bench.intake.take(plain + other, bench.tools) == len(plain)
    taken = [(call.number, call.tool.name, call.arguments) for call in bench.waiting]
    assert taken == [(1, "see", b"\x90"), (2, "takes", b"\x90")]
    assert [*bench.table.running] == [1, 2]
    assert bench.intake.take(call_frame(3, "see"), {}) == 0


def test_what_may_be_too_large_is_left_to_who_cuts_messages(bench: Bench) -> None:
    bench.table.max_message_bytes = 40
    assert bench.intake.take(call_frame(1, "see") * 3, bench.tools) == 0
    assert not bench.waiting


def test_a_page_without_stores_in_order_begins_the_same_calls(tmp_path: Path) -> None:
    for machine in ("x86_64", "aarch64"):
        page = CallPage(str(tmp_path / machine), machine)
        memoryview(page._page).cast("Q")[1] = 9 * 64 + 4
        began = [number for number in range(3, 12) if page.begins(number)]
        assert began == [5, 10, 11]
        assert page.begun == 11


def test_a_barrier_that_was_interrupted_is_one_again(bench: Bench) -> None:
    bench.page._barrier.acquire()
    assert bench.page.begins(1)
    assert not bench.page._barrier.locked()
