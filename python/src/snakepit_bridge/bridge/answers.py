"""What the host asks beside the conversation, whatever carries it."""

from __future__ import annotations

import time
from collections.abc import Mapping

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.call_table import CallTable
from snakepit_bridge.bridge.describe import describe
from snakepit_bridge.tools.tool import Tool

__all__ = ["Answers"]


class Answers:
    """Answers pings, and what the tools are.

    Attributes:
        last_ping: when the last ping came, on the clock of `time.monotonic()`.
    """

    def __init__(self, tools: Mapping[str, Tool], calls: CallTable) -> None:
        self.last_ping = time.monotonic()
        self._tools = tools
        self._calls = calls

    def ping(self, request: pb.PingRequest) -> pb.PingResponse:
        """Says that the worker lives, and what it does."""
        self.last_ping = time.monotonic()
        return pb.PingResponse(
            sequence=request.sequence,
            calls_running=len(self._calls),
            cpu_time_us=time.process_time_ns() // 1000,
        )

    def describe(self) -> pb.DescribeResponse:
        """Says what the tools are."""
        return describe(self._tools)
