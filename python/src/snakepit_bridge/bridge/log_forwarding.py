"""Forwards records of Python's `logging` to the host."""

from __future__ import annotations

import functools
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from snakepit_bridge.calls.context.call import CURRENT, Call
from snakepit_bridge.failures.python_error import bounded
from snakepit_bridge.frames import Log

if TYPE_CHECKING:
    from snakepit_bridge.bridge.logs import Logs
    from snakepit_bridge.telemetry.tracing import Tracing

MAX_MESSAGE = 16 << 10
MAX_TRACEBACK = 64 << 10
# How long a tool waits until an important record is sent, and how often it checks.
MAX_WAIT_S = 0.5
PAUSE_S = 0.0002


class _SetUp:
    """The level that was set before the tools were imported; None if none was."""

    level: int | None = None


def set_up_logging(level: int) -> None:
    """Sets up the root logger, once, before the tools are imported.

    The tools' own settings come later and stay. If a preloaded parent has imported the
    tools, its workers do not repeat this.
    """
    if _SetUp.level is not None:
        return
    _SetUp.level = level
    root = logging.getLogger()
    root.setLevel(level)
    logging.basicConfig = _beside_forwarders(logging.basicConfig)
    root.removeHandler = _but_forwarders(root.removeHandler)  # type: ignore[method-assign, assignment]


def forward_logs(logs: Logs) -> LogForwarder:
    """Puts all records of the root logger into the outbox."""
    set_up_logging(logs.level)
    forwarder = LogForwarder(logs)
    logging.getLogger().addHandler(forwarder)
    return forwarder


def _beside_forwarders(configure: Callable[..., None]) -> Callable[..., None]:
    """Returns a `basicConfig` that ignores forwarders.

    The original does nothing if the root logger has a handler, so the tools' settings
    would be dropped silently.
    """

    @functools.wraps(configure)
    def basic_config(*args: Any, **options: Any) -> None:
        handlers = logging.getLogger().handlers
        forwarders = [each for each in handlers if isinstance(each, LogForwarder)]
        handlers[:] = [each for each in handlers if each not in forwarders]
        try:
            configure(*args, **options)
        finally:
            handlers += forwarders

    return basic_config


def _but_forwarders(
    remove: Callable[[logging.Handler], None],
) -> Callable[[logging.Handler], None]:
    """Returns a `removeHandler` that keeps forwarders.

    `logging.config` removes every handler of the root logger.
    """

    def remove_handler(handler: logging.Handler) -> None:
        if not isinstance(handler, LogForwarder):
            remove(handler)

    return remove_handler


class LogForwarder(logging.Handler):
    """Puts records into the outbox; never raises, and never blocks for long.

    Before `Logs.begin` and after `Logs.finish` the outbox may never be sent. Then it
    treats records without another handler as Python does: from WARNING on it writes
    them to standard error. In between, it waits a moment until such a record is sent,
    because the tool's next step may end the process.
    """

    def __init__(self, logs: Logs) -> None:
        super().__init__(logs.level)
        self._logs = logs
        self._outbox = logs.outbox
        self._waits = True

    def wait_until_idle(self) -> None:
        """Waits until no record is being put into the outbox."""
        self.acquire()
        self.release()

    def emit(self, record: logging.LogRecord) -> None:
        """Sends one record; in a forked child, writes it to stderr instead."""
        try:
            handled = self._is_handled(record)
            if os.getpid() != self._logs.pid:
                self._write(record, self.level, handled)
            elif self._logs.is_finished:
                self._write(record, logging.WARNING, handled)
            else:
                self._send(record, handled)
        except Exception:  # noqa: BLE001 - arguments that do not fit, user code
            self.handleError(record)

    def _send(self, record: logging.LogRecord, handled: bool) -> None:
        bridge = self._logs.bridge
        is_shown = record.levelno >= logging.WARNING and not handled
        if is_shown and bridge is None:
            # Nothing is sent yet, and a start that fails loses waiting records.
            self._write(record, logging.WARNING, handled)
            handled, is_shown = True, False
        if self._outbox.logs_waiting == 0:
            self._waits = True
        taken = self._outbox.put_log(_frame(record, self._logs.tracing, handled))
        if not is_shown:
            return
        if not taken:
            self._write(record, logging.WARNING, handled)
        elif threading.get_ident() != bridge and self._waits:
            self._waits = self._wait_until_sent()

    def _wait_until_sent(self) -> bool:
        """Waits a moment until all records are sent; returns whether they are. Reason:
        the next step of the tool may end this process.
        """
        until = time.monotonic() + MAX_WAIT_S
        while self._outbox.logs_waiting > 0:
            if time.monotonic() > until:
                return False
            time.sleep(PAUSE_S)
        return True

    def _write(self, record: logging.LogRecord, level: int, handled: bool) -> None:
        if record.levelno >= level and not handled:
            sys.stderr.write(_line(record))

    def _is_handled(self, record: logging.LogRecord) -> bool:
        """Returns whether the record has another handler, by Python's own rules."""
        known = logging.Logger.manager.loggerDict.get(record.name)
        logger = known if isinstance(known, logging.Logger) else logging.getLogger()
        while True:
            if any(handler is not self for handler in logger.handlers):
                return True
            if not logger.propagate or logger.parent is None:
                return False
            logger = logger.parent


def _frame(record: logging.LogRecord, tracing: Tracing | None, handled: bool) -> Log:
    current = CURRENT.get(None)
    call = None if current is None else current.call
    ids = tracing.ids() if tracing is not None else None
    trace_id, span_id = ids or _ids_of_the_caller(call)
    return Log(
        call_id=call.call_id if call else 0,
        logger=bounded(record.name, MAX_MESSAGE),
        level=max(0, record.levelno),
        message=bounded(record.getMessage(), MAX_MESSAGE),
        time_us=int(record.created * 1_000_000),
        traceback=bounded(_traceback(record), MAX_TRACEBACK),
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
    if record.exc_info and record.exc_info[1] is not None:
        # Few records have one, and each import makes every start slower.
        from snakepit_bridge.failures.python_error import formatted

        _, error, trace = record.exc_info
        parts.append(formatted(error, trace))
    if record.stack_info:
        parts.append(record.stack_info)
    return "\n".join(parts)


def _line(record: logging.LogRecord) -> str:
    return f"{record.levelname}:{record.name}:{_text(record)}\n"


def _text(record: logging.LogRecord) -> str:
    return "\n".join(filter(None, [record.getMessage(), _traceback(record)]))
