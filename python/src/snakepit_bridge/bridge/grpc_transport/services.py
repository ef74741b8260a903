"""The RPCs of `snakepit.bridge.v1.Bridge`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import grpc
from grpc import aio

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.answers import Answers
from snakepit_bridge.bridge.call_table import CallTable
from snakepit_bridge.bridge.conversation import Conversation
from snakepit_bridge.bridge.grpc_transport.outbox import GrpcOutbox
from snakepit_bridge.bridge.grpc_transport.token import Guard
from snakepit_bridge.calls.cancelled import CancelReason

__all__ = ["BRIDGE_SERVICE", "Services"]

BRIDGE_SERVICE = "snakepit.bridge.v1.Bridge"

_logger = logging.getLogger(__name__)


class Services:
    """Answers the host, in turns of gRPC's loop.

    `on_host_left` is called when the conversation ends: with True if it broke.
    """

    def __init__(
        self,
        answers: Answers,
        conversation: Conversation,
        calls: CallTable,
        outbox: GrpcOutbox,
        on_host_left: Callable[[bool], None],
    ) -> None:
        self._answers = answers
        self._conversation = conversation
        self._calls = calls
        self._outbox = outbox
        self._on_host_left = on_host_left
        self._over = asyncio.Event()
        self._over.set()

    def handlers(self, guard: Guard) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """Returns the service's methods, behind the guard."""
        return {
            "Converse": grpc.stream_stream_rpc_method_handler(
                guard.unary(self._converse),
                request_deserializer=pb.HostFrame.FromString,
            ),
            "Ping": grpc.unary_unary_rpc_method_handler(
                guard.unary(self._ping),
                request_deserializer=pb.PingRequest.FromString,
                response_serializer=pb.PingResponse.SerializeToString,
            ),
            "Describe": grpc.unary_unary_rpc_method_handler(
                guard.unary(self._describe),
                request_deserializer=pb.DescribeRequest.FromString,
                response_serializer=pb.DescribeResponse.SerializeToString,
            ),
        }

    async def finish(self, timeout: float) -> None:
        """Writes what is left to write and ends the conversation, in order."""
        self._outbox.close()
        try:
            await asyncio.wait_for(self._over.wait(), timeout)
        except asyncio.TimeoutError:
            # The host does not read any more.
            pass

    async def _converse(self, _requests: Any, context: Any) -> None:
        if not self._over.is_set():
            await context.abort(
                grpc.StatusCode.FAILED_PRECONDITION,
                "the conversation of this worker is open already",
            )
        self._over.clear()
        loop = asyncio.get_running_loop()
        reader = loop.create_task(self._read(context))
        writer = loop.create_task(self._write(context))
        broken = True
        try:
            await asyncio.wait({reader, writer}, return_when=asyncio.FIRST_COMPLETED)
            if reader.done():
                # Half-closed, or broken: the latter raises here.
                reader.result()
                self._on_host_left(False)
            # Done when the worker has left.
            await writer
            broken = False
        except (KeyboardInterrupt, SystemExit) as error:
            # Not on through the thread that turns the loop now: it has raised already.
            raise RuntimeError("the handler of a signal raised in its midst") from error
        finally:
            self._over.set()
            reader.cancel()
            writer.cancel()
            # What still runs has nobody to answer to.
            self._calls.cancel_all(CancelReason.SHUTDOWN)
            self._on_host_left(broken)

    async def _read(self, context: Any) -> None:
        while (message := await context.read()) is not aio.EOF:
            if message.HasField("batch"):
                for frame in message.batch.frames:
                    self._receive(frame)
            else:
                self._receive(message)

    def _receive(self, frame: pb.HostFrame) -> None:
        if frame.HasField("ping"):
            self._outbox.put_first(pb.WorkerFrame(ping=self._answers.ping(frame.ping)))
        else:
            self._conversation.receive(frame)

    async def _write(self, context: Any) -> None:
        while (message := await self._outbox.take()) is not None:
            await context.write(message)

    async def _ping(self, request: pb.PingRequest, _context: Any) -> pb.PingResponse:
        return self._answers.ping(request)

    async def _describe(
        self, _request: pb.DescribeRequest, _context: Any
    ) -> pb.DescribeResponse:
        return self._answers.describe()
