"""The host's side of a conversation, over a real socket."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Iterator
from typing import Any

import grpc

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode
from support.packed_frames import parse_worker_frame

DEADLINE_S = 30.0
_SERVICE = "/snakepit.bridge.v1.Bridge/"
_TERMINAL = ("result", "end", "failure")


class Conversation:
    """Sends frames and receives them, in order. Logs are kept apart."""

    def __init__(self, path: str, token: str) -> None:
        self.metadata = (("snakepit-token", token),)
        limit = 256 << 20
        self.channel = grpc.insecure_channel(
            f"unix:{path}",
            options=[
                ("grpc.max_receive_message_length", limit),
                ("grpc.max_send_message_length", limit),
            ],
        )
        self.logs: queue.Queue[pb.Log] = queue.Queue()
        # What came, logs and all: a frame or a batch of them each.
        self.messages: list[pb.WorkerFrame] = []
        # Cleared, nothing is read any more: the worker cannot write for long.
        self.reads = threading.Event()
        self.reads.set()
        self._numbers = itertools.count(1)
        self._unfinished: set[int] = set()
        self._finished = threading.Condition()
        self._outgoing: queue.SimpleQueue[pb.HostFrame | None] = queue.SimpleQueue()
        self._incoming: queue.Queue[pb.WorkerFrame | grpc.RpcError | None] = (
            queue.Queue()
        )
        self._stream: Any = None
        self._open()

    def _open(self) -> None:
        converse = self.channel.stream_stream(
            f"{_SERVICE}Converse",
            request_serializer=pb.HostFrame.SerializeToString,
            response_deserializer=parse_worker_frame,
        )
        self._stream = converse(self._frames(), metadata=self.metadata)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, **frame: Any) -> None:
        """Sends one frame: `send(cancel=pb.Cancel(...))`."""
        self._outgoing.put(pb.HostFrame(**frame))

    def begin(self, tool: str, arguments: Any = None, **call: Any) -> int:
        """Sends a call and returns its number."""
        call_id = next(self._numbers)
        with self._finished:
            self._unfinished.add(call_id)
        image = b"" if arguments is None else encode(arguments)
        self.send(call=pb.Call(call_id=call_id, tool=tool, arguments=image, **call))
        return call_id

    def cancel(
        self, call_id: int, reason: pb.CancelReason = pb.CANCEL_REASON_CALLER
    ) -> None:
        """Sends a cancel."""
        self.send(cancel=pb.Cancel(call_id=call_id, reason=reason))

    def receive(self, timeout: float = DEADLINE_S) -> pb.WorkerFrame:
        """Returns the next frame that is no log.

        Raises:
            EOFError: the worker ended the stream.
            grpc.RpcError: the stream broke.
        """
        frame = self._incoming.get(timeout=timeout)
        if frame is None:
            raise EOFError
        if isinstance(frame, grpc.RpcError):
            raise frame
        return frame

    def terminal(self, call_id: int) -> pb.WorkerFrame:
        """Returns the terminal frame of a call; skips what is between."""
        while True:
            frame = self.receive()
            kind = frame.WhichOneof("frame")
            if kind in _TERMINAL and getattr(frame, kind).call_id == call_id:
                return frame

    def call(self, tool: str, arguments: Any = None, **call: Any) -> Any:
        """Calls a tool and returns its result."""
        frame = self.terminal(self.begin(tool, arguments, **call))
        if not frame.HasField("result"):
            raise AssertionError(f"no result: {frame}")
        return decode(frame.result.value)

    def failure(self, tool: str, arguments: Any = None, **call: Any) -> pb.Failure:
        """Calls a tool and returns its failure."""
        frame = self.terminal(self.begin(tool, arguments, **call))
        if not frame.HasField("failure"):
            raise AssertionError(f"no failure: {frame}")
        return frame.failure

    def chunk(self) -> Any:
        """Returns the value of the next frame, which is a chunk."""
        frame = self.receive()
        if not frame.HasField("chunk"):
            raise AssertionError(f"no chunk: {frame}")
        return decode(frame.chunk.value)

    def unary(self, method: str, request: Any, answer: Any, **options: Any) -> Any:
        """Calls another RPC of the bridge."""
        call = self.channel.unary_unary(
            method if method.startswith("/") else f"{_SERVICE}{method}",
            request_serializer=_serialized,
            response_deserializer=answer,
        )
        options.setdefault("metadata", self.metadata)
        return call(request, timeout=DEADLINE_S, **options)

    def rest(self) -> None:
        """Ends the calls that still run and forgets what came: for the next test."""
        with self._finished:
            for call_id in self._unfinished:
                self.cancel(call_id)
            ended = self._finished.wait_for(lambda: not self._unfinished, DEADLINE_S)
            assert ended, f"calls {self._unfinished} do not end"
        for kept in (self._incoming, self.logs):
            while not kept.empty():
                kept.get()

    def half_close(self) -> None:
        """Says that no frame will follow."""
        self._outgoing.put(None)

    def close(self) -> None:
        """Breaks the stream."""
        self.reads.set()
        self._stream.cancel()
        self.half_close()
        self._reader.join(DEADLINE_S)
        self.channel.close()

    def _frames(self) -> Iterator[pb.HostFrame]:
        while (frame := self._outgoing.get()) is not None:
            yield frame

    def _read(self) -> None:
        try:
            for message in self._stream:
                self.reads.wait()
                self.messages.append(message)
                inner = map(parse_worker_frame, message.batch.frames)
                for frame in inner if message.HasField("batch") else [message]:
                    self._take(frame)
        except grpc.RpcError as error:
            self._incoming.put(error)
        else:
            self._incoming.put(None)

    def _take(self, frame: pb.WorkerFrame) -> None:
        kind = frame.WhichOneof("frame")
        if kind == "log":
            self.logs.put(frame.log)
            return
        self._incoming.put(frame)
        if kind in _TERMINAL:
            with self._finished:
                self._unfinished.discard(getattr(frame, kind).call_id)
                self._finished.notify_all()


def _serialized(message: Any) -> bytes:
    if isinstance(message, bytes):
        return message
    data: bytes = message.SerializeToString()
    return data
