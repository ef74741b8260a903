"""The records of `logging` on their way to the host, once something imports it."""

from __future__ import annotations

import os

from snakepit_bridge.bridge.transport import Outbox
from snakepit_bridge.when_imported import when_imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.bridge.log_forwarding import LogForwarder
    from snakepit_bridge.telemetry.tracing import Tracing


class Logs:
    """What forwards records and what they depend on, which may be known before.

    Importing `logging` takes a tenth of a worker's start, so the bridge does not do
    that. It sets `logging` up when the tools, or modules that they import, import it,
    before they can use it.

    Attributes:
        outbox: where records wait for the host.
        level: records below it are not sent.
        pid: that of the worker.
        tracing: knows the current span; None without OpenTelemetry.
        bridge: the thread that sends the outbox; None before that is sent.
        is_finished: whether the outbox is not sent any more.
    """

    def __init__(self, outbox: Outbox, level: int) -> None:
        """Forwards all records of the root logger from now on, or from its import on."""
        self.outbox = outbox
        self.level = level
        self.pid = os.getpid()
        self.tracing: Tracing | None = None
        self.bridge: int | None = None
        self.is_finished = False
        self._forwarder: LogForwarder | None = None
        when_imported(self._forward, "logging")

    def begin(self, bridge: int | None) -> None:
        """The outbox is sent from now on.

        Args:
            bridge: the thread that sends it.
        """
        self.bridge = bridge

    def finish(self) -> None:
        """The outbox is not sent any more."""
        self.is_finished = True
        if self._forwarder is not None:
            self._forwarder.wait_until_idle()

    def _forward(self, _logging: str) -> None:
        from snakepit_bridge.bridge.log_forwarding import forward_logs

        self._forwarder = forward_logs(self)
