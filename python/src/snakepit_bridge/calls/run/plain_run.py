"""Runs plain calls, one after the other, in the main thread.

Most of the time of a small call is spent in the bridge's own steps. So the steps of a
usual call are in one function here: each function call that is avoided saves as much
time as a small tool takes. `PlainCall` runs unusual calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextvars import Context
from time import perf_counter_ns

from snakepit_bridge.calls.cancel.trampoline import invoke_by_name_for, invoke_for
from snakepit_bridge.calls.context.call import NOT_SAMPLED
from snakepit_bridge.calls.run.call_state import CallState
from snakepit_bridge.calls.run.compact_result import pack_result
from snakepit_bridge.calls.run.plain_call import PlainCall
from snakepit_bridge.calls.run.running_call import FRAME_ROOM, GoesOn, RunningCall
from snakepit_bridge.failures.failure import taken_back
from snakepit_bridge.threads.gathering import MOST_HELD_NS, Gathering
from snakepit_bridge.values.decode import read_short
from snakepit_bridge.values.short import pack_short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from snakepit_bridge.bridge.transport import Outbox
    from snakepit_bridge.calls.context.host_calls import Reply
    from snakepit_bridge.calls.memory.call_page import CallPage
    from snakepit_bridge.telemetry.tracing import Tracing

    class PlainTable(Protocol):
        """The part of the table of calls that running plain calls needs."""

        outbox: Outbox
        page: CallPage
        tracing: Tracing | None
        max_message_bytes: int
        running: dict[int, RunningCall]
        replies: dict[int, tuple[int, Reply]]
        on_forgotten: Callable[[], None] | None

        def follow_up(self, call_id: int) -> None:
            """Runs the remaining actions when a call has been removed."""


__all__ = ["PlainRun"]

# A global is found faster than an attribute of a class.
_RUNNING, _ENDED = CallState.RUNNING, CallState.ENDED
_MOST_HELD_US = MOST_HELD_NS // 1000
# `asyncio.run` takes several times as long: it opens and closes a selector and sockets.
_LEAST_LOOP_US = 20


class PlainRun:
    """Runs the plain calls of one worker."""

    def __init__(
        self,
        context: Context,
        table: PlainTable,
        gathering: Gathering,
        after_loop: Callable[[], None],
        go_on: Callable[[RunningCall, Context, Any], None],
        now_ns: Callable[[], int] = perf_counter_ns,
    ) -> None:
        """Calls see the variables of `context`.

        `after_loop` is called after a call that may have run an event loop, and `go_on`
        has one awaited that has made an awaitable.
        """
        self._context = context
        self._table = table
        self._most_bytes = table.max_message_bytes - FRAME_ROOM
        self._gathering = gathering
        self._after_loop = after_loop
        self._go_on = go_on
        self._now_ns = now_ns
        outbox = table.outbox
        # Everything that each call needs, in one tuple.
        self._parts = (table.running, table.page, outbox.add, outbox.send_added)

    def run(self, plain: PlainCall, waiting: deque[RunningCall]) -> PlainCall | None:
        """Runs a call that was taken from those that wait, and the plain ones behind it,
        up to one that goes on in the event loop, which it returns.

        An answer waits for the next ones only in memory that the host can read,
        whatever the next call does, and nothing else that is sent overtakes it.
        """
        table, gathering, now_ns = self._table, self._gathering, self._now_ns
        running, page, add, send_added = self._parts
        held = 0
        # Also the end of a call, because then the next one begins.
        since_us = now_us = now_ns() // 1000
        try:
            while True:
                number = plain.number
                frame: Any = None
                if page.begins(number):
                    plain.state = _RUNNING
                    begun_us = now_us
                    context: Any = self._context
                    is_usual = plain.is_wanted
                    tracing = table.tracing
                    if tracing is not None:
                        if plain.traceparent is NOT_SAMPLED:
                            context = tracing.unrecorded(context)
                        elif is_usual:
                            is_usual = tracing.is_idle(plain.traceparent)
                    context = context.copy()
                    value = image = None
                    try:
                        given: Any = read_short(plain.arguments) if is_usual else None
                        tool = plain.tool
                        if type(given) is list and tool.signature.passes(given):
                            value = context.run(invoke_for, plain, tool.function, given)
                        elif type(given) is dict and tool.signature.passes_named(given):
                            value = context.run(
                                invoke_by_name_for, plain, tool.function, given
                            )
                        else:
                            given = None
                            frame = context.run(plain.answer, begun_us * 1000)
                        if given is not None:
                            image = pack_short(value)
                            if image is None or len(image) > self._most_bytes:
                                image, begun_ns = None, begun_us * 1000
                                frame = context.run(plain.answer_with, value, begun_ns)
                    # sys.exit() ends the call only.
                    except BaseException as error:  # noqa: BLE001
                        image = None
                        frame = context.run(plain.failed, error)
                    now_us = now_ns() // 1000
                    if now_us - begun_us > _LEAST_LOOP_US:
                        self._after_loop()
                    if image is not None:
                        frame = pack_result(number, begun_us, now_us - begun_us, image)
                    elif type(frame) is GoesOn:
                        self._go_on(plain, context, frame.made)
                        return plain
                    elif type(frame) is not bytes or not plain.ends_with_answer:
                        plain.settle(frame)
                        frame = None
                    # Frees the objects of this call before the next one.
                    value = given = context = None
                else:
                    plain.settle(taken_back(number))
                if frame is not None:
                    plain.state = _ENDED
                    add(frame)
                    # After the frame: a worker that leaves exits when no call is left.
                    del running[number]
                    if table.replies or table.on_forgotten is not None:
                        table.follow_up(number)
                    held += 1
                gathering.progress += 1
                if not waiting:
                    break
                if (
                    frame is None
                    or held >= table.outbox.most_held
                    or now_us - since_us > _MOST_HELD_US
                    or not page.keep(frame)
                ):
                    send_added()
                    held = 0
                    since_us = now_us = now_ns() // 1000
                try:
                    following = waiting.popleft()
                except IndexError:
                    # It has just been withdrawn.
                    break
                if type(following) is not PlainCall:
                    waiting.appendleft(following)
                    break
                plain = following
        except BaseException as error:
            # A signal handler of the tools raised here: the call ends with it.
            if plain.state is _ENDED:
                running.pop(plain.number, None)
            else:
                plain.settle(plain.failed(error))
            raise
        finally:
            send_added()
        return None
