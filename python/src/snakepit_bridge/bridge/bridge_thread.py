"""The bridge's thread: an event loop that serves the host and runs no user code."""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable

from snakepit_bridge.boot import exit_status
from snakepit_bridge.boot.control_channel import StartFailed
from snakepit_bridge.boot.launch_message import Launch
from snakepit_bridge.bridge.call_table import CallTable
from snakepit_bridge.bridge.conversation import Conversation
from snakepit_bridge.bridge.signal_listener import SignalListener
from snakepit_bridge.bridge.transport import Transport, TransportParts
from snakepit_bridge.bridge_log import logger
from snakepit_bridge.calls.memory.call_page import CallPage
from snakepit_bridge.calls.run.runner import Runner
from snakepit_bridge.own_imports import traceback
from snakepit_bridge.threads.bridge_loop import LoopWakeup, call_soon
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.tools.toolbox import Toolbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.calls.memory.call_page import BegunMarks
    from snakepit_bridge.calls.memory.shared_memory import SharedMemory
    from snakepit_bridge.telemetry.tracing import Tracing

# Calls may run for half of this time; then they are cancelled.
LEAVE_GRACE_S = 2.0
FINISH_S = 0.5
LIFELINE_S = 0.5


def _call_page(launch: Launch) -> CallPage | BegunMarks | None:
    path = launch.call_page
    if path is None:
        return None
    try:
        if launch.calls_per_worker == 1:
            return CallPage(path)
        # Few workers need it, and each import makes every start slower.
        from snakepit_bridge.calls.memory.call_page import BegunMarks

        return BegunMarks(path)
    except OSError as error:
        # The host finds no page: it sends no call ahead, and cannot know which calls
        # did not begin.
        logger(__name__).warning("there is no room for the page of calls: %s", error)
        return None


def _shared_memory(launch: Launch) -> SharedMemory | None:
    if launch.shared_memory is None:
        return None
    from snakepit_bridge.calls.memory.shared_memory import SharedMemory

    return SharedMemory(*launch.shared_memory)


def _warn_of_batches_of_one(tools: Iterable[Tool], calls_per_worker: int) -> None:
    sizes = {tool.name: tool.batch.max for tool in tools if tool.batch is not None}
    if calls_per_worker == 1 < max(sizes.values(), default=1):
        logger(__name__).warning(
            "%s could run up to %d calls together, and this worker gets 1 at a time; "
            "set callsPerWorker of the pool to %d",
            ", ".join(sizes),
            max(sizes.values()),
            max(sizes.values()),
        )


def _nothing() -> None:
    pass


class BridgeThread:
    """Serves the host, from `start` to `close`, both called in the main thread."""

    def __init__(
        self,
        launch: Launch,
        toolbox: Toolbox,
        parts: TransportParts,
        tracing: Tracing | None,
    ) -> None:
        """Must be called in the main thread. From now on, SIGTERM makes the worker
        leave.
        """
        self._launch = launch
        self._parts = parts
        self._main = parts.main
        self._calls = CallTable(
            parts.outbox,
            launch.max_message_bytes,
            _shared_memory(launch),
            tracing,
            _call_page(launch),
        )
        tools = toolbox.tools.values()
        _warn_of_batches_of_one(tools, launch.calls_per_worker)
        runner = Runner(parts.main, launch.calls_per_worker, self._calls, tools)
        self._conversation = Conversation(toolbox.tools, self._calls, runner)
        if launch.handles is not None:
            # Few hosts allow them, and each import makes every start slower.
            from snakepit_bridge.handles.handle_table import HandleTable
            from snakepit_bridge.handles.handle_tools import handle_tools

            self._conversation.allow_handles(
                handle_tools(launch.handles.imports),
                functools.partial(HandleTable, launch.handles.limit),
            )
        self._loop = parts.bridge_loop()
        self._transport: Transport | None = None
        self._leaving: object = None
        self._broken = False
        self._is_closing = False
        self._changed = LoopWakeup(self._loop)
        self._listening = threading.Event()
        self._failure: StartFailed | None = None
        self._signals = SignalListener(
            lambda: self.leave(False),
            lambda: self._main.submit(_nothing),
            lambda: self._calls.running.values(),
        )
        self._thread = threading.Thread(
            target=self._run, name="snakepit-bridge", daemon=True
        )

    @property
    def ident(self) -> int | None:
        """The thread's number; None before `start`."""
        return self._thread.ident

    def after_each_call(self, action: Callable[[], None]) -> None:
        """Makes the bridge call `action`, in any thread, when a call is over; use it
        before `start`.
        """
        self._calls.after_each_call(action)

    def start(self) -> None:
        """Listens.

        Raises:
            StartFailed: the socket cannot be used.
        """
        self._thread.start()
        self._listening.wait()
        if self._failure is not None:
            raise self._failure

    def leave(self, broken: bool) -> None:
        """Makes the worker leave; from any thread, and from a signal handler.

        Args:
            broken: whether it leaves because the conversation broke.
        """
        call_soon(self._loop, lambda: self._leave(broken))

    def close(self) -> None:
        """Sends the remaining frames, then ends the thread."""
        self._is_closing = True
        self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException:  # noqa: BLE001 - a worker cannot work without it
            try:
                traceback.print_exc(file=sys.stderr)
            finally:
                os._exit(exit_status.FAILED)
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        self._calls.attach(self._loop)
        self._signals.attach(self._loop)
        transport = self._parts.transport(
            self._launch, self._loop, self._conversation, self.leave
        )
        try:
            await transport.start()
        except Exception as error:  # noqa: BLE001 - grpc has several classes for it
            self._failure = StartFailed(
                "SOCKET_UNUSABLE",
                f"cannot listen on {self._launch.socket}: {error}",
                traceback.format_exc(),
            )
            return
        finally:
            self._listening.set()
        self._transport = transport
        self._watch_silence()
        await self._changed.wait(lambda: self._is_closing)
        await transport.finish(FINISH_S)
        await transport.stop()

    def _watch_silence(self) -> None:
        """Warns when the host's pings stop, once each time."""
        limit = self._launch.silence_warn_ms / 1000
        if limit > 0:
            last = self._conversation.last_ping
            wait = max(0.1, last + limit - time.monotonic())
            self._loop.call_later(wait, self._look_for_a_ping, last, False)

    def _look_for_a_ping(self, last: float, has_warned: bool) -> None:
        limit = self._launch.silence_warn_ms / 1000
        if self._conversation.last_ping != last:
            self._watch_silence()
            return
        if not has_warned:
            logger(__name__).warning("no ping from the host for %g s", limit)
        self._loop.call_later(limit / 4, self._look_for_a_ping, last, True)

    def _leave(self, broken: bool) -> None:
        self._broken = self._broken or broken
        if self._leaving is None:
            self._leaving = self._loop.create_task(self._leave_in_order())

    async def _leave_in_order(self) -> None:
        if self._transport is not None:
            self._transport.leave()
        if not await self._calls.settled(LEAVE_GRACE_S / 2):
            from snakepit_bridge.calls.cancel.cancel_reason import CancelReason

            self._calls.cancel_all(CancelReason.SHUTDOWN)
            if not await self._calls.settled(LEAVE_GRACE_S / 2):
                logger(__name__).error(
                    "leaving with %d calls that do not end", len(self._calls.running)
                )
                if self._transport is not None:
                    await self._transport.finish(FINISH_S)
                sys.stderr.flush()
                os._exit(exit_status.STUCK)
        if self._broken:
            # Most likely the host died. Then the lifeline is about to kill this process
            # and its group; if the worker left first, the group would stay behind.
            await LoopWakeup(self._loop).wait(lambda: False, LIFELINE_S)
        self._main.stop()
