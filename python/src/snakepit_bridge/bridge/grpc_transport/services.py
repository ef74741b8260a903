"""The RPCs of `snakepit.bridge.v1.Bridge`."""

from __future__ import annotations

import asyncio
import hmac
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
from grpc import aio

from snakepit_bridge._version import __version__
from snakepit_bridge.bridge.conversation import Conversation
from snakepit_bridge.bridge.describe import describe
from snakepit_bridge.bridge.frame_codec import is_packed
from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.grpc_transport.messages import description, host_frame
from snakepit_bridge.bridge.grpc_transport.outbox import GrpcOutbox
from snakepit_bridge.calls.cancel.cancel_reason import CancelReason

BRIDGE_SERVICE = "snakepit.bridge.v1.Bridge"
TOKEN_KEY = "snakepit-token"


class Services:
    """Answers the host, in steps of gRPC's loop, if the call carries the token.

    `on_host_left` is called when the conversation ends: with True if it broke.
    """

    def __init__(
        self,
        conversation: Conversation,
        outbox: GrpcOutbox,
        token: str,
        on_host_left: Callable[[bool], None],
    ) -> None:
        self._conversation = conversation
        self._outbox = outbox
        self._token = token.encode()
        self._on_host_left = on_host_left
        self._over = asyncio.Event()
        self._over.set()

    def handlers(self) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """Returns the service's methods."""
        return {
            "Converse": grpc.stream_stream_rpc_method_handler(
                self._guarded(self._converse),
            ),
            "Ping": grpc.unary_unary_rpc_method_handler(
                self._guarded(self._ping),
                request_deserializer=pb.PingRequest.FromString,
                response_serializer=pb.PingResponse.SerializeToString,
            ),
            "Describe": grpc.unary_unary_rpc_method_handler(
                self._guarded(self._describe),
                request_deserializer=pb.DescribeRequest.FromString,
                response_serializer=pb.DescribeResponse.SerializeToString,
            ),
        }

    async def finish(self, timeout: float) -> None:
        """Writes the remaining frames, then ends the conversation."""
        self._outbox.close()
        try:
            await asyncio.wait_for(self._over.wait(), timeout)
        except asyncio.TimeoutError:
            # The host no longer reads.
            pass

    def _guarded(
        self, behaviour: Callable[[Any, Any], Awaitable[Any]]
    ) -> Callable[[Any, Any], Awaitable[Any]]:
        async def guarded(request: Any, context: Any) -> Any:
            if not self._has_token(context):
                await context.abort(
                    grpc.StatusCode.UNAUTHENTICATED,
                    f"the metadata {TOKEN_KEY!r} is missing or wrong",
                )
            return await behaviour(request, context)

        return guarded

    def _has_token(self, context: Any) -> bool:
        for key, value in context.invocation_metadata() or ():
            if key == TOKEN_KEY:
                token = value.encode() if isinstance(value, str) else value
                return hmac.compare_digest(token, self._token)
        return False

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
                # Half-closed, or broken: then this raises.
                reader.result()
                self._on_host_left(False)
            # Done when the worker has left.
            await writer
            broken = False
        except (KeyboardInterrupt, SystemExit) as error:
            # It was already raised in the thread that steps the loop.
            raise RuntimeError("a signal handler raised in a step") from error
        finally:
            self._over.set()
            reader.cancel()
            writer.cancel()
            # The answers of calls that still run cannot be sent.
            self._conversation.calls.cancel_all(CancelReason.SHUTDOWN)
            self._on_host_left(broken)

    async def _read(self, context: Any) -> None:
        while (message := await context.read()) is not aio.EOF:
            self._received(message)

    def _received(self, message: bytes) -> None:
        if is_packed(message):
            self._conversation.receive(message)
            return
        frame = pb.HostFrame.FromString(message)
        if frame.HasField("batch"):
            for each in frame.batch.frames:
                if is_packed(each):
                    self._conversation.receive(each)
                else:
                    self._act_on(pb.HostFrame.FromString(each))
        else:
            self._act_on(frame)

    def _act_on(self, frame: pb.HostFrame) -> None:
        if frame.HasField("ping"):
            answer = self._pong(frame.ping)
            self._outbox.put_first(pb.WorkerFrame(ping=answer))
        else:
            self._conversation.receive_frame(host_frame(frame))

    async def _write(self, context: Any) -> None:
        while (message := await self._outbox.take()) is not None:
            await context.write(message)

    async def _ping(self, request: pb.PingRequest, _context: Any) -> pb.PingResponse:
        return self._pong(request)

    def _pong(self, request: pb.PingRequest) -> pb.PingResponse:
        calls_running, cpu_time_us = self._conversation.ping()
        return pb.PingResponse(
            sequence=request.sequence,
            calls_running=calls_running,
            cpu_time_us=cpu_time_us,
        )

    async def _describe(
        self, _request: pb.DescribeRequest, _context: Any
    ) -> pb.DescribeResponse:
        return pb.DescribeResponse(
            tools=map(description, describe(self._conversation.tools)),
            bridge_version=__version__,
            python_version=sys.version.split()[0],
        )
