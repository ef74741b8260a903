"""The commonest call: a function that returns, called by a compact frame.

It passes from its begin to its answer in as few steps as that takes. Where something
is unusual about it, what `RunningCall` has for every call does that part.
"""

from __future__ import annotations

from contextvars import Context
from typing import TYPE_CHECKING

from snakepit_bridge.calls.call_state import CallState
from snakepit_bridge.calls.cancel_signal import send_cancel_signal
from snakepit_bridge.calls.compact_result import compact_result
from snakepit_bridge.calls.context import CURRENT
from snakepit_bridge.calls.run_tool import failure_frame
from snakepit_bridge.calls.running_call import FRAME_ROOM, RunningCall, nothing
from snakepit_bridge.calls.trampoline import invoke
from snakepit_bridge.tools.binding import bind
from snakepit_bridge.values.short import pack_short

if TYPE_CHECKING:
    from snakepit_bridge.calls.call_sink import TerminalFrame

__all__ = ["PlainCall"]

# A global is found faster than a member of an enumeration.
_ENDED = CallState.ENDED


class PlainCall(RunningCall):
    """A call of a tool that is plain."""

    __slots__ = ()

    def run(self, context: Context) -> None:
        """Runs the whole call, in the main thread."""
        self.context = context
        self.interrupt = send_cancel_signal
        self.cancellation.by_signal = True
        if not self.begin():
            return
        frame = context.run(self._answer)
        if type(frame) is bytes and self._span is None:
            # Nothing else was made for the call that would have to end.
            self.state = _ENDED
            self.interrupt = nothing
            self._sink.settle(self.call.call_id, frame)
        else:
            self.settle(frame)

    def _answer(self) -> TerminalFrame:
        try:
            CURRENT.set(self.call)
            tracing = self._sink.tracing
            if tracing is not None:
                self._span = tracing.begin(self.tool, self.call)
            positional, keywords = bind(self.tool.signature, self._given())
            self.began = True
            if self.cancellation.reason is not None:
                self.cancellation.raise_if_requested()
            value = invoke(self.tool.function, *positional, **keywords)
            image = pack_short(value)
            if image is None or len(image) + FRAME_ROOM > self._sink.max_message_bytes:
                return self.result(value)
            return compact_result(self.call.call_id, self._begun_ns, image)
        except BaseException as error:  # noqa: BLE001 - sys.exit() ends the call only
            return failure_frame(self, error)
