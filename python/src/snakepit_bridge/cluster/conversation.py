"""The thread that carries the conversation of host and worker, with the files of its
attachments.

One thread serves both directions, because two threads cannot share an SSL connection.
The host owns the files, as on one machine (docs/decisions/0016); the relay carries out the
host's instructions, and drops each file when the host does.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import queue
import select
import socket
import ssl
import stat
import threading
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from snakepit_bridge.bridge.framed_transport.frame_parser import HEADER, SIGNAL
from snakepit_bridge.bridge.framed_transport.sideband import (
    BYTES,
    HEAD,
    SHORTENED,
    SegmentPart,
)
from snakepit_bridge.cluster.hosted_worker import SHARE_OF_FREE, SHARED_MEMORY

_Result = TypeVar("_Result")


class Mailbox:
    """Functions that run in the loop's thread."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._readable, self.wakeup = socket.socketpair()
        self._readable.setblocking(False)
        self.wakeup.setblocking(False)

    def fileno(self) -> int:
        """For the selector."""
        return self._readable.fileno()

    def post(self, call: Callable[[], object]) -> None:
        """Runs it in the loop's thread; from any thread."""
        self._calls.put(call)
        try:
            self.wakeup.send(b"\0")
        except BlockingIOError:
            # It is awake already.
            pass

    def ask(self, call: Callable[[], _Result]) -> _Result:
        """Runs it in the loop's thread and returns its result."""
        answer: queue.SimpleQueue[_Result] = queue.SimpleQueue()
        self.post(lambda: answer.put(call()))
        return answer.get()

    def deliver(self) -> None:
        """Runs what has been posted; called in the loop's thread when this is readable."""
        try:
            while self._readable.recv(4096):
                pass
        except BlockingIOError:
            pass
        while not self._calls.empty():
            self._calls.get()()


# Does not block on a pipe that has the name of such a file.
_RECEIVED = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MADE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class NodeSegments:
    """The files that host or worker still use; one thread uses this object."""

    def __init__(self, directory: str, no_room: Callable[[str], None]) -> None:
        """Uses the worker's directory.

        Args:
            directory: In shared memory, and private.
            no_room: Called with words when bytes of the host are dropped: the worker
                refuses the call that they belong to.
        """
        self._directory = directory
        self._no_room = no_room
        self._segments: dict[str, _Segment] = {}

    def room(self, part: SegmentPart) -> memoryview | None:
        """Returns the memory for bytes of the host; None if there is no room for
        them.
        """
        try:
            segment = self._segments.get(part.name)
            if segment is None:
                path = self._path(part.name)
                segment = _Segment(os.open(path, _MADE, 0o600))
                self._segments[part.name] = segment
            return segment.grown(part.offset, part.offset + part.size)
        except OSError:
            # The worker must not find incomplete data either.
            self.close(part.name)
            self._no_room(
                f"{SHARED_MEMORY} of this node has no room for {part.size} bytes"
            )
            return None

    def content(self, part: SegmentPart) -> memoryview:
        """Returns bytes of the worker; none if they are not where it says."""
        try:
            segment = self._segments.get(part.name) or self._received(part.name)
            return segment.view(part.offset, part.offset + part.size)
        except OSError:
            return memoryview(b"")

    def shorten(self, name: str, size: int) -> None:
        """Frees the memory beyond this many bytes: no call uses it."""
        if (segment := self._segments.get(name)) is not None:
            segment.shorten(size)

    def close(self, name: str) -> None:
        """Drops a file; a mapping of it that a tool keeps does not change."""
        segment = self._segments.pop(name, None)
        if segment is not None:
            segment.close()
        # It still exists if the worker never opened it.
        with contextlib.suppress(OSError):
            os.unlink(self._path(name))

    def _received(self, name: str) -> _Segment:
        path = self._path(name)
        segment = _Segment(os.open(path, _RECEIVED))
        os.unlink(path)
        self._segments[name] = segment
        return segment

    def _path(self, name: str) -> str:
        if not name.isalnum():
            raise OSError(f"no attachment is called {name!r}")
        return os.path.join(self._directory, name)


class _Segment:
    """An open file, and the mapping that is kept, so that its pages are found once."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._kept: mmap.mmap | None = None
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise OSError("it is no file")

    def grown(self, begin: int, end: int) -> memoryview:
        """Returns a part that is there from now on.

        Raises:
            OSError: there is no room for it.
        """
        size = os.fstat(self._file).st_size
        if end > size:
            facts = os.fstatvfs(self._file)
            if end - size > facts.f_bavail * facts.f_frsize * SHARE_OF_FREE:
                raise OSError("it would take too much of what is free")
            # Writing to a page without memory would kill this process.
            os.posix_fallocate(self._file, size, end - size)
        return self.view(begin, end)

    def view(self, begin: int, end: int) -> memoryview:
        """Returns an existing part; raises `OSError` if there is none."""
        size = os.fstat(self._file).st_size
        if end > size:
            raise OSError(f"it has {size} bytes")
        if self._kept is None or len(self._kept) < end:
            # Views of the one before keep that for as long as they are needed.
            self._kept = mmap.mmap(self._file, size)
        return memoryview(self._kept)[begin:end]

    def shorten(self, size: int) -> None:
        if os.fstat(self._file).st_size > size:
            self._kept = None
            os.truncate(self._file, size)

    def close(self) -> None:
        self._kept = None
        os.close(self._file)


# How much is read before it is passed on: the worker begins while the rest arrives.
BUFFER_BYTES = 256 << 10
# An SSL connection waits for its socket, for one or the other.
WAITS = (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError)
_HEADER_BYTES = HEADER.size
_unpack_header = HEADER.unpack_from


class Direction:
    """One direction. Frames pass as they are, whatever their length."""

    def __init__(
        self,
        source: socket.socket,
        target: socket.socket,
        worker: socket.socket,
        segments: NodeSegments | None = None,
    ) -> None:
        """Only the connection to the worker may break: it means that the worker has
        left.
        """
        self.target = target
        self._source = source
        self._worker = worker
        self._segments = segments
        self._buffer = memoryview(bytearray(BUFFER_BYTES))
        # The bytes between them were received and not processed yet.
        self._begin = self._end = 0
        # To be sent, in order: parts of the buffer, and of files.
        self._outgoing: deque[memoryview] = deque()
        # How much of the message that has begun is still to come, and where it goes if
        # that is not the target: nowhere if there is no room.
        self._passing = 0
        self._room: memoryview | None = None
        self._dropping = 0
        self._has_ended = False

    @property
    def is_full(self) -> bool:
        """Whether the target takes no more for now."""
        return bool(self._outgoing)

    @property
    def is_over(self) -> bool:
        """Whether all has been sent that there will be."""
        return self._has_ended and not self._outgoing

    def carry(self) -> bool:
        """Carries one buffer; returns whether there may be more and the target accepts
        it.
        """
        if self._outgoing and not self._send():
            return False
        return self._receive() and self._send()

    def _send(self) -> bool:
        """Returns whether all is sent."""
        outgoing = self._outgoing
        try:
            while outgoing:
                piece = outgoing[0]
                # The same piece again if it waits: TLS has begun to send it.
                sent = self.target.send(piece[:BUFFER_BYTES])
                if sent == len(piece):
                    outgoing.popleft()
                else:
                    outgoing[0] = piece[sent:]
        except WAITS:
            return False
        except ConnectionError:
            if self.target is not self._worker:
                raise
            # The other direction ends with it, after sending its data.
            outgoing.clear()
        return True

    def _receive(self) -> bool:
        """Receives up to one buffer; returns whether data came."""
        if self._begin < self._end:
            rest = bytes(self._buffer[self._begin : self._end])
            self._buffer[: len(rest)] = rest
            self._begin, self._end = 0, len(rest)
        else:
            self._begin = self._end = 0
        came = 0
        try:
            while not self._has_ended and came < BUFFER_BYTES:
                room = self._room
                into = self._buffer[self._end :] if room is None else room
                if not into:
                    break
                received = self._source.recv_into(into)
                self._has_ended = received == 0
                came += received
                if room is not None:
                    self._room = room[received:] or None
                else:
                    self._end += received
        except WAITS:
            pass
        except ConnectionError:
            if self._source is not self._worker:
                raise
            self._has_ended = True
        self._look()
        return came > 0

    def _look(self) -> None:
        """Divides the received data into frames to pass on and messages beside them."""
        if self._segments is None:
            self._pass(self._begin, self._end)
            self._begin = self._end
            return
        begin = at = self._begin
        end = self._end
        while at < end:
            if self._passing:
                step = min(self._passing, end - at)
                self._passing -= step
                at += step
                continue
            if self._dropping:
                step = min(self._dropping, end - at)
                self._dropping -= step
                begin = at = at + step
                continue
            if end - at < _HEADER_BYTES:
                break
            kind, length = _unpack_header(self._buffer, at)
            if kind <= SIGNAL:
                self._passing = _HEADER_BYTES + length
                continue
            head = at + _HEADER_BYTES
            if end - head < HEAD:
                break
            self._pass(begin, at)
            at = head + HEAD
            part = SegmentPart.read(self._buffer[head:at])
            begin = at = self._sideband(self._segments, kind, part, at)
        self._pass(begin, at)
        self._begin = at

    def _pass(self, begin: int, end: int) -> None:
        if begin < end:
            self._outgoing.append(self._buffer[begin:end])

    def _sideband(
        self, segments: NodeSegments, kind: int, part: SegmentPart, at: int
    ) -> int:
        """Carries out a message beside the frames; returns where the next one
        begins.
        """
        if self._source is self._worker:
            content = segments.content(part)
            head = HEADER.pack(BYTES, HEAD + len(content)) + part.head()
            self._outgoing.append(memoryview(head))
            if content:
                self._outgoing.append(content)
        elif kind == BYTES:
            return self._take(segments.room(part), part.size, at)
        elif kind == SHORTENED:
            segments.shorten(part.name, part.size)
        else:
            segments.close(part.name)
        return at

    def _take(self, room: memoryview | None, size: int, at: int) -> int:
        """Takes the bytes of the host that have arrived; the others follow."""
        here = min(size, self._end - at)
        if room is None:
            self._dropping = size - here
        else:
            room[:here] = self._buffer[at : at + here]
            self._room = room[here:] or None
        return at + here


# Of the worker's socket; the kernel may grant less.
SOCKET_BYTES = 1 << 20
# Once for each arrival: the thread that is woken reads everything.
ARRIVED = select.EPOLLIN | select.EPOLLET


class Pump:
    """Both directions of one conversation."""

    def __init__(
        self,
        remote: ssl.SSLSocket,
        local: socket.socket,
        host_left: Callable[[], None],
        segments: NodeSegments | None = None,
    ) -> None:
        """Takes over the connections.

        Args:
            remote: The host's.
            local: To the worker.
            host_left: Called when the host has ended the conversation in order.
            segments: Where what crosses beside the frames is; None if nothing does.
        """
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            local.setsockopt(socket.SOL_SOCKET, option, SOCKET_BYTES)
        self._remote = remote
        self._local = local
        self._host_left = host_left
        self._to_worker = Direction(remote, local, worker=local, segments=segments)
        self._to_host = Direction(local, remote, worker=local, segments=segments)

    def run(self) -> None:
        """Carries data until the worker has closed its end, which it does after the
        host.

        Raises:
            OSError: a connection broke, or the host's ended without TLS's farewell.
        """
        with select.epoll() as poller:
            for connection in (self._remote, self._local):
                connection.setblocking(False)
                poller.register(connection, ARRIVED)
            waiting: set[socket.socket] = set()
            has_left = False
            while not self._to_host.is_over:
                # In turns: an endless direction must not block the other.
                to_worker, to_host = self._to_worker.carry(), self._to_host.carry()
                if self._to_worker.is_over and not has_left:
                    has_left = True
                    self._host_left()
                    with contextlib.suppress(OSError):
                        self._local.shutdown(socket.SHUT_WR)
                if to_worker or to_host:
                    continue
                wanted = {each.target for each in self._directions() if each.is_full}
                for connection in wanted ^ waiting:
                    poller.modify(
                        connection,
                        ARRIVED | select.EPOLLOUT if connection in wanted else ARRIVED,
                    )
                waiting = wanted
                if not self._to_host.is_over:
                    poller.poll()
        with contextlib.suppress(*WAITS, OSError):
            self._remote.unwrap()

    def _directions(self) -> tuple[Direction, Direction]:
        return self._to_worker, self._to_host


def carry_conversation(
    remote: ssl.SSLSocket,
    local: socket.socket,
    mailbox: Mailbox,
    left: Callable[[], None],
    broken: Callable[[str], None],
    segments: NodeSegments | None,
) -> None:
    """Carries it in a thread of its own.

    Args:
        remote: The host's connection.
        local: The worker's.
        mailbox: Of the loop that `left` and `broken` run in.
        left: Called when the host or the worker has ended the conversation.
        broken: Called with the reason when the connection to the host broke.
        segments: Of the worker's attachments; None if it shares no memory.
    """

    def run() -> None:
        try:
            Pump(remote, local, lambda: mailbox.post(left), segments).run()
            mailbox.post(left)
        except OSError as error:
            reason = f"the connection to the host broke: {error}"
            mailbox.post(lambda: broken(reason))

    threading.Thread(target=run, daemon=True).start()
