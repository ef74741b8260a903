"""Records of Python's `logging`, to the host."""

from __future__ import annotations

import logging
import os
import sys
import traceback

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.boot.control_channel import cut_in_the_middle
from snakepit_bridge.bridge.transport import Outbox
from snakepit_bridge.calls.context import CURRENT, Call
from snakepit_bridge.telemetry.tracing import Tracing

__all__ = ["LogForwarder", "forward_logs"]

MAX_MESSAGE = 16 << 10
MAX_TRACEBACK = 64 << 10


def forward_logs(outbox: Outbox, level: int) -> LogForwarder:
    """Sends what reaches the root logger, from `level` on."""
    root = logging.getLogger()
    forwarder = LogForwarder(outbox, level)
    root.addHandler(forwarder)
    root.setLevel(level)
    return forwarder


class LogForwarder(logging.Handler):
    """Puts records into the outbox; never blocks and never raises.

    Attributes:
        tracing: what knows the current span; None where nothing does.
    """

    def __init__(self, outbox: Outbox, level: int) -> None:
        super().__init__(level)
        self.tracing: Tracing | None = None
        self._outbox = outbox
        self._pid = os.getpid()

    def emit(self, record: logging.LogRecord) -> None:
        """Sends one record; in a forked child, writes it to stderr instead."""
        try:
            if os.getpid() == self._pid:
                self._outbox.put_log(_frame(record, self.tracing))
            else:
                sys.stderr.write(f"{record.levelname}:{record.name}:{_text(record)}\n")
        except Exception:  # noqa: BLE001 - arguments that do not fit, user code
            self.handleError(record)


def _frame(record: logging.LogRecord, tracing: Tracing | None) -> pb.Log:
    call = CURRENT.get(None)
    ids = tracing.ids() if tracing is not None else None
    trace_id, span_id = ids or _ids_of_the_caller(call)
    return pb.Log(
        call_id=call.call_id if call else 0,
        logger=_clean(record.name, MAX_MESSAGE),
        level=max(0, record.levelno),
        message=_clean(record.getMessage(), MAX_MESSAGE),
        time_us=int(record.created * 1_000_000),
        traceback=_clean(_traceback(record), MAX_TRACEBACK),
        trace_id=trace_id,
        span_id=span_id,
    )


def _ids_of_the_caller(call: Call | None) -> tuple[str, str]:
    # W3C: version, trace id, span id, flags.
    parent = call.trace_context.get("traceparent", "").split("-") if call else []
    return (parent[1], parent[2]) if len(parent) == 4 else ("", "")


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
