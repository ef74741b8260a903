"""Calls that a tool runs together: each has its own answer or error, and its own session."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import Host
from hypothesis import given
from hypothesis import strategies as st
from support.batches import ALL_KINDS, AT_ONCE, KINDS, TOOLS, fresh, gathered, settled
from support.conversation import Conversation

from snakepit_bridge import CallCancelled, CancelReason
from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.calls.cancel.cancellation import Cancellation
from snakepit_bridge.calls.context.batch_call import BatchCall
from snakepit_bridge.calls.run.batches import FEW, BatchQueue, RunningBatch, wait_s
from snakepit_bridge.calls.run.running_call import CallState
from snakepit_bridge.failures.failure import cancelled
from snakepit_bridge.frames import Failure, FailureCode
from snakepit_bridge.tools.batch import Batch

BOTH_TRANSPORTS_IN_CHECK = True


@ALL_KINDS
def test_calls_that_came_during_a_batch_are_the_next_ones(
    shared: Host, tool: str
) -> None:
    conversation = fresh(shared)
    found = gathered(conversation, tool, ["a", "b", "c", "d", "e", "f"])
    assert list(found.values()) == ["a", "b", "c", "d", "e", "f"]
    assert conversation.call("found_sizes") == [1, 4, 2]


@KINDS
def test_arguments_may_be_given_by_name(shared: Host, tool: str) -> None:
    conversation = fresh(shared)
    assert conversation.call(tool, {"items": "a"}) == "a"


@ALL_KINDS
@pytest.mark.parametrize("calls_per_worker", [1, AT_ONCE])
def test_one_call_alone_is_a_batch_of_one(
    shared: Host, tool: str, calls_per_worker: int
) -> None:
    conversation = fresh(shared, calls_per_worker)
    assert conversation.call(tool, ["a"]) == "a"
    assert conversation.failure(tool, ["error"]).error.type == "KeyError"
    assert conversation.failure(tool, ["raises"]).error.type == "ValueError"
    short = conversation.failure(tool, ["short"])
    assert "1 calls returned 0 answers" in short.message
    assert conversation.call("found_sizes") == [1, 1, 1, 1]


@KINDS
def test_an_exception_in_the_list_is_the_error_of_its_caller(
    shared: Host, tool: str
) -> None:
    conversation = fresh(shared)
    a, error, b = gathered(conversation, tool, ["a", "error", "b"]).values()
    assert (a, b) == ("a", "b")
    assert error.kind == pb.FAILURE_KIND_TOOL_FAILED
    assert (error.error.type, error.began) == ("KeyError", True)


@KINDS
def test_arguments_that_do_not_fit_are_the_error_of_their_caller(
    shared: Host, tool: str
) -> None:
    conversation = fresh(shared)
    wrong: Any = 7
    a, error, b = gathered(conversation, tool, ["a", wrong, "b"]).values()
    assert (a, b) == ("a", "b")
    assert error.kind == pb.FAILURE_KIND_INVALID_ARGUMENTS
    assert (error.path, error.began) == ("$.items", False)
    assert conversation.call("found_sizes") == [1, 2]


@KINDS
def test_a_batch_in_which_no_arguments_fit_does_not_run(
    shared: Host, tool: str
) -> None:
    conversation = fresh(shared)
    wrong: Any = 7
    for _ in range(2):
        failure = conversation.failure(tool, [wrong])
        assert failure.kind == pb.FAILURE_KIND_INVALID_ARGUMENTS
    assert conversation.call(tool, ["a"]) == "a"
    assert conversation.call("found_sizes") == [1]


@KINDS
@pytest.mark.parametrize(
    ("item", "kind", "says"),
    [
        ("raises", "ValueError", "for all"),
        ("short", "BatchResultInvalid", "3 calls returned 2 answers"),
        ("invalid", "BatchResultInvalid", "3 calls returned str"),
    ],
)
def test_what_a_batch_raises_or_returns_wrongly_is_the_error_of_every_caller(
    shared: Host, tool: str, item: str, kind: str, says: str
) -> None:
    conversation = fresh(shared)
    for failure in gathered(conversation, tool, ["a", item, "b"]).values():
        assert failure.kind == pb.FAILURE_KIND_TOOL_FAILED
        assert failure.error.type.endswith(kind)
        assert says in failure.message


def test_each_call_keeps_its_session(shared: Host) -> None:
    conversation = fresh(shared)
    first = conversation.begin("sessions", ["block"], session_id="s")
    assert conversation.logs.get(timeout=30).message == "blocks"
    calls = [
        conversation.begin("sessions", ["a"], **({"session_id": name} if name else {}))
        for name in ("s", "", "t")
    ]
    conversation.begin("release")
    found = settled(conversation, [first, *calls])
    assert [found[call] for call in (first, *calls)] == [1, 2, None, 1]


def test_a_method_of_a_toolset_runs_calls_together(shared: Host) -> None:
    conversation = fresh(shared)
    first = conversation.begin("passes", ["block"])
    assert conversation.logs.get(timeout=30).message == "blocks"
    calls = [conversation.begin("passes", [item]) for item in "ab"]
    conversation.begin("release")
    found = settled(conversation, [first, *calls])
    before = found[first]
    assert [found[call] for call in calls] == [before + 1, before + 1]


@pytest.mark.parametrize("calls_per_worker", [1, AT_ONCE])
def test_each_call_may_ask_the_host(shared: Host, calls_per_worker: int) -> None:
    conversation = fresh(shared, calls_per_worker)
    call = conversation.begin("asks", ["a"])
    host_call = conversation.receive().host_call
    assert (host_call.call_id, host_call.function) == (call, "name")
    answer = pb.HostResult(
        host_call_id=host_call.host_call_id, value=host_call.argument
    )
    conversation.send(host_result=answer)
    assert settled(conversation, [call]) == {call: "a"}
    refused = conversation.failure("asks_for_all", ["a"])
    assert "use one of current_batch()" in refused.message


def test_a_worker_of_one_call_says_that_nothing_gathers(start: Host) -> None:
    source = """
        from snakepit_bridge import Batch, tool

        @tool(batch=Batch(max=8))
        def embed(texts: list[str]) -> list[int]:
            return [len(text) for text in texts]
    """
    conversation = start(source).converse()
    warning = conversation.logs.get(timeout=30)
    assert "embed could run up to 8 calls together" in warning.message
    assert "callsPerWorker of the pool to 8" in warning.message


# -------- Callers that leave a batch: before it begins, while it runs, and all of them


@KINDS
def test_a_call_that_is_cancelled_while_it_waits_is_taken_out(
    shared: Host, tool: str
) -> None:
    conversation = fresh(shared)
    first = conversation.begin(tool, ["block"])
    assert conversation.logs.get(timeout=30).message == "blocks"
    calls = [conversation.begin(tool, [item]) for item in "abc"]
    conversation.cancel(calls[1], pb.CANCEL_REASON_DEADLINE)
    cancelled = settled(conversation, [calls[1]])[calls[1]]
    assert (cancelled.kind, cancelled.began) == (pb.FAILURE_KIND_CANCELLED, False)
    conversation.begin("release")
    found = settled(conversation, [first, calls[0], calls[2]])
    assert (found[calls[0]], found[calls[2]]) == ("a", "c")
    assert conversation.call("found_sizes") == [1, 2]


@pytest.mark.parametrize(
    ("tool", "blocks"),
    [("together", "block"), ("later", "block"), ("later", "block the loop")],
)
def test_a_call_that_is_cancelled_in_a_batch_ends_at_once_and_the_batch_runs_on(
    shared: Host, tool: str, blocks: str
) -> None:
    conversation = fresh(shared)
    first = conversation.begin(tool, ["block"])
    assert conversation.logs.get(timeout=30).message == "blocks"
    calls = [conversation.begin(tool, [item]) for item in ("a", blocks)]
    conversation.begin("release")
    assert conversation.logs.get(timeout=30).message == "blocks"
    conversation.cancel(calls[0])
    # The function still blocks.
    left = settled(conversation, [calls[0]])[calls[0]]
    assert (left.kind, left.began) == (pb.FAILURE_KIND_CANCELLED, True)
    conversation.begin("release")
    assert settled(conversation, [calls[1]]) == {calls[1]: blocks}
    assert conversation.call("found_sizes") == [1, 2]
    assert first not in calls


BUSY = pytest.mark.parametrize("tool", ["busy", "busy_later", "busy_passed"])


def has_begun(conversation: Conversation) -> None:
    """Waits until `busy` says that it has begun."""
    while conversation.logs.get(timeout=30).message != "busy":
        pass


@BUSY
def test_a_batch_that_every_caller_left_is_interrupted(start: Host, tool: str) -> None:
    conversation = start(TOOLS, callsPerWorker=AT_ONCE).converse()
    first = conversation.begin(tool, ["a"])
    has_begun(conversation)
    calls = [conversation.begin(tool, [item]) for item in "bc"]
    conversation.cancel(first, pb.CANCEL_REASON_DEADLINE)
    left = settled(conversation, [first])[first]
    assert (left.kind, left.began) == (pb.FAILURE_KIND_CANCELLED, True)
    has_begun(conversation)
    for call in calls:
        conversation.cancel(call)
    found = settled(conversation, calls)
    assert {each.kind for each in found.values()} == {pb.FAILURE_KIND_CANCELLED}
    assert conversation.call("found_interrupted") == ["DEADLINE", "CALLER"]


@BUSY
def test_a_batch_in_a_worker_of_one_call_is_interrupted_too(
    start: Host, tool: str
) -> None:
    conversation = start(TOOLS).converse()
    call = conversation.begin(tool, ["a"])
    has_begun(conversation)
    conversation.cancel(call)
    left = settled(conversation, [call])[call]
    assert (left.kind, left.began) == (pb.FAILURE_KIND_CANCELLED, True)
    assert conversation.call("found_interrupted") == ["CALLER"]


def test_asking_for_a_caller_that_left_raises_for_that_call(shared: Host) -> None:
    conversation = fresh(shared)
    first = conversation.begin("asks_or_leaves", ["block"])
    assert conversation.logs.get(timeout=30).message == "blocks"
    calls = [conversation.begin("asks_or_leaves", [item]) for item in "ab"]
    conversation.begin("release")
    while (frame := conversation.receive()).WhichOneof("frame") != "host_call":
        pass
    assert frame.host_call.call_id == calls[0]
    conversation.cancel(calls[0])
    # The tool takes what was raised as the answer of this call, and asks for the next.
    while (frame := conversation.receive()).WhichOneof("frame") != "host_call":
        pass
    assert frame.host_call.call_id == calls[1]
    conversation.send(
        host_result=pb.HostResult(
            host_call_id=frame.host_call.host_call_id, value=frame.host_call.argument
        )
    )
    assert settled(conversation, [calls[1]]) == {calls[1]: "b"}
    assert first not in calls


# ----------- Arguments of a batch whose check is code of the tools, and blocks

CHECKED = """
    import os
    from dataclasses import dataclass
    from snakepit_bridge import Batch, current_call, tool

    reader, writer = os.pipe()

    @dataclass
    class Item:
        name: str

        def __post_init__(self) -> None:
            current_call().logger.info("blocks")
            os.read(reader, 1)

    @tool(batch=Batch(max=4, wait_ms=0))
    async def together(items: list[Item]) -> list[str]:
        return [item.name for item in items]

    @tool
    def release() -> int:
        return os.write(writer, b"x")
"""


def test_a_worker_answers_pings_while_arguments_of_a_batch_are_checked(
    start: Host,
) -> None:
    conversation = start(CHECKED, callsPerWorker=AT_ONCE).converse()
    call = conversation.begin("together", [{"name": "a"}])
    assert conversation.logs.get(timeout=30).message == "blocks"
    conversation.unary("Ping", pb.PingRequest(sequence=1), pb.PingResponse.FromString)
    conversation.begin("release")
    assert conversation.terminal(call).HasField("result")


# -------- When a batch begins, and with which calls; time is played by the test


class QueueBench:
    """A queue, the batches that have begun, and its clock."""

    def __init__(self, **batch: Any) -> None:
        self.now = 100.0
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.begun: list[list[Any]] = []
        self.queue = BatchQueue(
            Batch(**batch), self.begun.append, self._later, lambda: self.now
        )

    def _later(self, delay_s: float, callback: Callable[[], None]) -> None:
        self.timers.append((self.now + delay_s, callback))

    def submit(self, count: int = 1, deadline: float | None = None) -> list[Any]:
        calls: list[Any] = [
            SimpleNamespace(
                state=CallState.WAITING, call=SimpleNamespace(deadline=deadline)
            )
            for _ in range(count)
        ]
        for call in calls:
            self.queue.submit(call)
        return calls

    def over(self) -> None:
        self.queue.over(len(self.begun[-1]))

    def pass_ms(self, ms: float) -> None:
        end = self.now + ms / 1000
        # Both sums of milliseconds may be off by a little.
        while due := [timer for timer in self.timers if timer[0] <= end + 1e-9]:
            timer = min(due, key=lambda each: each[0])
            self.timers.remove(timer)
            self.now = max(self.now, timer[0])
            timer[1]()
        self.now = end

    @property
    def sizes(self) -> list[int]:
        return [len(batch) for batch in self.begun]


def after_seven() -> QueueBench:
    """Returns one that ran a call, and then seven together, which are over."""
    bench = QueueBench(max=8, wait_ms=5)
    bench.submit()
    bench.submit(7)
    bench.over()
    bench.over()
    return bench


def test_a_call_that_is_alone_does_not_wait() -> None:
    bench = QueueBench()
    for _ in range(3):
        bench.submit()
        bench.over()
        bench.pass_ms(1)
    assert (bench.sizes, bench.timers) == ([1, 1, 1], [])


def test_after_a_batch_of_several_the_next_one_waits_for_as_many() -> None:
    bench = after_seven()
    bench.submit(6)
    assert bench.sizes == [1, 7]
    bench.submit()
    assert bench.sizes == [1, 7, 7]


def test_two_groups_of_callers_join() -> None:
    bench = QueueBench(max=8, wait_ms=5)
    bench.submit()
    bench.submit(4)
    bench.over()
    bench.submit(4)
    bench.over()
    bench.submit(3)
    assert bench.sizes == [1, 4]
    bench.submit()
    assert bench.sizes == [1, 4, 8]


def test_it_waits_no_longer_than_it_may_and_once() -> None:
    bench = after_seven()
    bench.pass_ms(3)
    bench.submit(2)
    bench.pass_ms(1)
    assert bench.sizes == [1, 7]
    bench.pass_ms(1)
    assert bench.sizes == [1, 7, 2]


def test_a_call_waits_neither_longer_than_that_nor_beyond_its_deadline() -> None:
    bench = after_seven()
    bench.submit(1, deadline=bench.now + 0.004)
    assert bench.sizes == [1, 7, 1]
    bench = after_seven()
    bench.pass_ms(6)
    bench.submit()
    assert bench.sizes == [1, 7, 1]


def test_the_timer_of_an_earlier_wait_ends_no_later_one() -> None:
    bench = after_seven()
    bench.submit(7)  # Enough after one of them had to wait.
    bench.pass_ms(2)
    bench.over()
    bench.submit(1)
    bench.pass_ms(4)  # The first timer comes.
    assert bench.sizes == [1, 7, 7]
    bench.pass_ms(1)
    assert bench.sizes == [1, 7, 7, 1]


def test_calls_that_were_cancelled_while_they_waited_are_forgotten() -> None:
    bench = QueueBench(max=4)
    bench.submit()
    for _ in range(10):
        for call in bench.submit(FEW):
            call.state = CallState.ENDED
    assert len(bench.queue._waiting) <= FEW
    bench.submit(2)
    bench.over()
    assert bench.sizes == [1, 2]


@pytest.mark.parametrize("wrong", [{"max": 0}, {"wait_ms": -1}, {"wait_ms": 1e999}])
def test_a_batch_has_a_call_and_a_time(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"batch|wait_ms"):
        Batch(**wrong)


@given(
    st.integers(1, 64),
    st.floats(0, 1000),
    st.integers(1, 100),
    st.integers(0, 100),
    st.floats(0, 10),
)
def test_no_wait_is_longer_than_declared_and_a_full_batch_never_waits(
    most: int, wait_ms: float, calls: int, before: int, since_s: float
) -> None:
    wait = wait_s(Batch(most, wait_ms), calls, before, since_s)
    assert 0 <= wait <= wait_ms / 1000
    assert since_s + wait <= max(since_s, wait_ms / 1000) + 1e-9
    if calls >= most or before <= 1:
        assert wait == 0


# -------- Who ends a call of a batch, whatever comes first; the test takes each step itself


class Caller:
    """A call that keeps how it was settled."""

    def __init__(self, number: int, deadline: float | None = None) -> None:
        self.number = number
        self.call = SimpleNamespace(call_id=number, tool="together", deadline=deadline)
        self.cancellation = Cancellation()
        self.interrupt: Callable[[], None] = lambda: None
        self.began = False
        self.settled: list[Any] = []

    def begin(self) -> bool:
        return True

    def enter(self, _ns: int, _batch: object) -> tuple[tuple[int], dict[str, Any]]:
        self.began = True
        self.cancellation.raise_if_requested()
        return (self.call.call_id,), {}

    def failed(self, error: BaseException) -> object:
        reason = self.cancellation.reason
        assert reason is not None
        return cancelled(self.number, reason, error, began=self.began)

    def result(self, value: object) -> object:
        return value

    def settle(self, frame: Any) -> None:
        self.settled.append(frame)

    def leave(self) -> None:
        """What the bridge's thread does, again until the call has ended."""
        self.cancellation.request(CancelReason.CALLER)
        self.interrupt()


class BatchBench:
    """A batch of three, of which nothing runs by itself."""

    def __init__(self) -> None:
        self.callers = [Caller(number) for number in (1, 2, 3)]
        self.elsewhere: list[Callable[[], None]] = []
        calls: list[Any] = list(self.callers)
        tool: Any = SimpleNamespace(is_async=False)
        self.batch = RunningBatch(
            tool, calls, copy_context(), None, self.elsewhere.append
        )
        self.interrupted = 0
        self.batch.interrupt = self._interrupt

    def _interrupt(self) -> None:
        self.interrupted += 1

    @property
    def settled(self) -> list[list[Any]]:
        return [
            ["left" if isinstance(each, Failure) else each for each in caller.settled]
            for caller in self.callers
        ]


def test_a_caller_that_leaves_is_settled_elsewhere_and_once() -> None:
    bench = BatchBench()
    assert bench.batch.begin()
    assert bench.batch.take_items() == [1, 2, 3]
    for _ in range(3):
        bench.callers[1].leave()
    assert bench.settled == [[], [], []]
    bench.batch.answer(["a", "b", "c"])
    (settle,) = bench.elsewhere
    settle()
    assert bench.settled == [["a"], ["left"], ["c"]]
    frame = bench.callers[1].settled[0]
    assert (frame.code, frame.began) == (FailureCode.CANCELLED, True)
    assert bench.interrupted == 0


def test_the_function_is_interrupted_until_it_ends_when_the_last_one_has_left() -> None:
    bench = BatchBench()
    assert bench.batch.begin()
    for caller in bench.callers:
        caller.leave()
    assert bench.batch.cancellation.reason is CancelReason.CALLER
    bench.callers[2].leave()
    assert bench.interrupted == 2
    for settle in bench.elsewhere:
        settle()
    # The last one waits for the function, so that the host sees one that hangs.
    assert bench.settled == [["left"], ["left"], []]
    bench.batch.fail(CallCancelled(CancelReason.CALLER))
    assert bench.settled == [["left"], ["left"], ["left"]]


def test_a_caller_that_leaves_while_the_batch_begins_is_not_in_the_list() -> None:
    bench = BatchBench()
    first, second, _ = bench.callers
    enter = second.enter

    def leave_meanwhile(*about: Any) -> tuple[tuple[int], dict[str, Any]]:
        first.leave()
        second.leave()
        return enter(*about)

    second.enter = leave_meanwhile  # type: ignore[method-assign, assignment]
    assert bench.batch.begin()
    assert bench.batch.take_items() == [1, 3]
    assert bench.settled == [[], ["left"], []]
    # The first one was in the list by then; the bridge's thread asks again.
    first.leave()
    assert len(bench.elsewhere) == 1


def test_nothing_runs_when_nobody_stays() -> None:
    bench = BatchBench()
    for caller in bench.callers:
        caller.leave()
    assert not bench.batch.begin()
    assert bench.settled == [["left"], ["left"], ["left"]]
    assert bench.batch.size == 0


def test_a_batch_has_the_last_deadline_if_each_call_has_one() -> None:
    def deadline(*deadlines: float | None) -> float | None:
        calls: list[Any] = [Caller(1, each).call for each in deadlines]
        return BatchCall(calls, Cancellation(), is_async=False).deadline

    assert deadline(5.0, 7.0, 6.0) == 7.0
    assert deadline(5.0, None) is None
