"""Records of Python's `logging`, to the host."""

from __future__ import annotations

import functools
import logging
import os
import sys
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.boot.control_channel import cut_in_the_middle
from snakepit_bridge.bridge.transport import Outbox
from snakepit_bridge.calls.context import CURRENT, Call
from snakepit_bridge.telemetry.tracing import Tracing

__all__ = ["LogForwarder", "forward_logs"]

MAX_MESSAGE = 16 << 10
MAX_TRACEBACK = 64 << 10
# So many records are kept for a start that fails; the last ones say why.
MAX_UNHEARD = 100


def forward_logs(outbox: Outbox, level: int) -> LogForwarder:
    """Sends what reaches the root logger, from `level` on."""
    root = logging.getLogger()
    forwarder = LogForwarder(outbox, level)
    root.addHandler(forwarder)
    root.setLevel(level)
    logging.basicConfig = _beside(forwarder, logging.basicConfig)
    return forwarder


def _beside(
    forwarder: LogForwarder, configure: Callable[..., None]
) -> Callable[..., None]:
    """Returns a `basicConfig` to which the forwarder is no handler.

    It does nothing where the root logger has one: what tools set up would be
    dropped without a word.
    """

    @functools.wraps(configure)
    def basic_config(*args: Any, **options: Any) -> None:
        root = logging.getLogger()
        was_there = forwarder in root.handlers
        root.removeHandler(forwarder)
        try:
            configure(*args, **options)
        finally:
            if was_there:
                root.addHandler(forwarder)

    return basic_config


class LogForwarder(logging.Handler):
    """Puts records into the outbox; never blocks and never raises.

    Before `begin` and after `finish` nobody may read the outbox. Then it does for
    records that no other handler takes what Python does: from WARNING on they
    are written to standard error.

    Attributes:
        tracing: what knows the current span; None where nothing does.
    """

    def __init__(self, outbox: Outbox, level: int) -> None:
        super().__init__(level)
        self.tracing: Tracing | None = None
        self._outbox = outbox
        self._pid = os.getpid()
        self._is_finished = False
        # What is to be written where the worker does not start.
        self._unheard: deque[str] | None = deque(maxlen=MAX_UNHEARD)

    def begin(self) -> None:
        """The host reads the outbox from now on."""
        self._unheard = None

    def finish(self) -> None:
        """The host reads the outbox no more.

        Not `close`: `logging.config` closes every handler that there is.
        """
        self.acquire()
        try:
            self._is_finished = True
            unheard, self._unheard = self._unheard, None
            for text in unheard or ():
                sys.stderr.write(text)
        finally:
            self.release()

    def emit(self, record: logging.LogRecord) -> None:
        """Sends one record; in a forked child, writes it to stderr instead."""
        try:
            handled = self._is_handled(record)
            if os.getpid() != self._pid:
                self._write(record, self.level, handled)
            elif self._is_finished:
                self._write(record, logging.WARNING, handled)
            else:
                self._outbox.put_log(_frame(record, self.tracing, handled))
                self._keep(record, handled)
        except Exception:  # noqa: BLE001 - arguments that do not fit, user code
            self.handleError(record)

    def _write(self, record: logging.LogRecord, level: int, handled: bool) -> None:
        if record.levelno >= level and not handled:
            sys.stderr.write(_line(record))

    def _keep(self, record: logging.LogRecord, handled: bool) -> None:
        unheard = self._unheard
        if unheard is None or handled or record.levelno < logging.WARNING:
            return
        unheard.append(_clean(_line(record), MAX_TRACEBACK))

    def _is_handled(self, record: logging.LogRecord) -> bool:
        """Returns whether the record has another handler, as Python counts them."""
        known = logging.Logger.manager.loggerDict.get(record.name)
        logger = known if isinstance(known, logging.Logger) else logging.getLogger()
        while True:
            if any(handler is not self for handler in logger.handlers):
                return True
            if not logger.propagate or logger.parent is None:
                return False
            logger = logger.parent


def _frame(record: logging.LogRecord, tracing: Tracing | None, handled: bool) -> pb.Log:
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
        handled=handled,
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


def _line(record: logging.LogRecord) -> str:
    return f"{record.levelname}:{record.name}:{_text(record)}\n"


def _text(record: logging.LogRecord) -> str:
    return "\n".join(filter(None, [record.getMessage(), _traceback(record)]))


def _clean(text: str, limit: int) -> str:
    # Protobuf refuses lone surrogates.
    return cut_in_the_middle(text.encode("utf-8", "backslashreplace").decode(), limit)
