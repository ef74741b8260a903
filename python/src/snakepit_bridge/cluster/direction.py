"""Carries the bytes of one connection to the other, and the data beside frames."""

from __future__ import annotations

import socket
import ssl
from collections import deque

from snakepit_bridge.bridge.framed_transport.beside import (
    BYTES,
    HEAD,
    SHORTENED,
    Place,
)
from snakepit_bridge.bridge.framed_transport.frame_parser import HEADER, SIGNAL
from snakepit_bridge.cluster.node_segments import NodeSegments

__all__ = ["WAITS", "Direction"]

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
            place = Place.read(self._buffer[head:at])
            begin = at = self._beside(self._segments, kind, place, at)
        self._pass(begin, at)
        self._begin = at

    def _pass(self, begin: int, end: int) -> None:
        if begin < end:
            self._outgoing.append(self._buffer[begin:end])

    def _beside(self, segments: NodeSegments, kind: int, place: Place, at: int) -> int:
        """Carries out a message beside the frames; returns where the next one
        begins.
        """
        if self._source is self._worker:
            content = segments.content(place)
            head = HEADER.pack(BYTES, HEAD + len(content)) + place.head()
            self._outgoing.append(memoryview(head))
            if content:
                self._outgoing.append(content)
        elif kind == BYTES:
            return self._take(segments.room(place), place.size, at)
        elif kind == SHORTENED:
            segments.shorten(place.name, place.size)
        else:
            segments.close(place.name)
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
