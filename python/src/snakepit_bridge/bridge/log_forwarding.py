"""Records of Python's `logging`, to the host."""

from __future__ import annotations

import logging
import os
import sys
import traceback

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.boot.control_channel import cut_in_the_middle
from snakepit_bridge.bridge.outbox import Outbox
from snakepit_bridge.calls.context import CURRENT

__all__ = ["LogForwarder", "forward_logs"]

MAX_MESSAGE = 16 << 10
MAX_TRACEBACK = 64 << 10


def forward_logs(outbox: Outbox, level: int) -> None:
    """Sends what reaches the root logger, from `level` on."""
    root = logging.getLogger()
    root.addHandler(LogForwarder(outbox, level))
    root.setLevel(level)


class LogForwarder(logging.Handler):
    """Puts records into the outbox; never blocks and never raises."""

    def __init__(self, outbox: Outbox, level: int) -> None:
        super().__init__(level)
        self._outbox = outbox
        self._pid = os.getpid()

    def emit(self, record: logging.LogRecord) -> None:
        """Sends one record; in a forked child, writes it to stderr instead."""
        try:
            if os.getpid() == self._pid:
                self._outbox.put_log(_frame(record))
            else:
                sys.stderr.write(f"{record.levelname}:{record.name}:{_text(record)}\n")
        except Exception:  # noqa: BLE001 - arguments that do not fit, user code
            self.handleError(record)


def _frame(record: logging.LogRecord) -> pb.Log:
    call = CURRENT.get(None)
    # W3C: version, trace id, span id, flags.
    parent = call.trace_context.get("traceparent", "").split("-") if call else []
    return pb.Log(
        call_id=call.call_id if call else 0,
        logger=_clean(record.name, MAX_MESSAGE),
        level=max(0, record.levelno),
        message=_clean(record.getMessage(), MAX_MESSAGE),
        time_us=int(record.created * 1_000_000),
        traceback=_clean(_traceback(record), MAX_TRACEBACK),
        trace_id=parent[1] if len(parent) == 4 else "",
        span_id=parent[2] if len(parent) == 4 else "",
    )


def _traceback(record: logging.LogRecord) -> str:
    parts = []
    if record.exc_info and record.exc_info[0] is not None:
        parts.append("".join(traceback.format_exception(*record.exc_info)))
    if record.stack_info:
        parts.append(record.stack_info)
    return "\n".join(parts)


def _text(record: logging.LogRecord) -> str:
    return "\n".join(filter(None, [record.getMessage(), _traceback(record)]))


def _clean(text: str, limit: int) -> str:
    # Protobuf refuses lone surrogates.
    return cut_in_the_middle(text.encode("utf-8", "backslashreplace").decode(), limit)
