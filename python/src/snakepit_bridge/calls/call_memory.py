"""The shared memory of one call: its arguments, and room for its result."""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.calls.segment import Segment
from snakepit_bridge.values.encode import Attachment

if TYPE_CHECKING:
    from snakepit_bridge.calls.shared_memory import SharedMemory

__all__ = ["CallMemory"]


class _Forks:
    """How often this process has forked: a child has every mapping of its parent."""

    count = 0

    @classmethod
    def happened(cls) -> None:
        cls.count += 1


# Counted before and after, so that a mapping made at the beginning of a fork also sees
# a change.
os.register_at_fork(before=_Forks.happened, after_in_parent=_Forks.happened)


class CallMemory:
    """The segments of one call, from its frame to its terminal frame.

    A view of the arguments may outlive the call: a tool, a thread, a traceback or a
    forked child may keep it. Every array of the arguments is a view of one mapping
    that is made for this call; while the mapping exists, the segment is not free.
    """

    __slots__ = (
        "_arguments",
        "_forks",
        "_made",
        "_mapping",
        "_result",
        "_shared",
        "_size",
    )

    def __init__(
        self,
        shared: SharedMemory,
        arguments: Segment | None = None,
        size: int = 0,
        result: Segment | None = None,
    ) -> None:
        """Takes segments that no other call uses.

        Args:
            shared: gets the segments back at the end.
            arguments: holds the large parts of the arguments.
            size: how many bytes those parts take.
            result: may be written to.
        """
        self._shared = shared
        self._arguments = arguments
        self._size = size
        self._result = result
        self._made: Segment | None = None
        self._mapping: weakref.ref[mmap.mmap] | None = None
        self._forks = 0

    def reader(self) -> ArgumentsReader | None:
        """Returns a reader for the large parts of the arguments, if there are any."""
        if self._arguments is None:
            return None
        return ArgumentsReader(self._arguments, self._size, self._keep_track)

    def share(
        self, encode: Callable[[Attachment | None], bytes]
    ) -> tuple[bytes, pb.Attachment | None]:
        """Encodes the result, with its large parts in a segment.

        If there is no room for them, the image has everything.
        """
        segment = self._result
        if self._arguments is not None and self._arguments_are_free():
            # No mapping of it is left, and no child can inherit one from here on.
            self._mapping = None
            segment = self._arguments
        if segment is not None:
            return self._shared.share_in(segment, encode)
        image, self._made = self._shared.share_in_new_segment(encode)
        if self._made is None:
            return image, None
        return image, pb.Attachment(name=self._made.name, size=self._made.size)

    def take_back(self) -> None:
        """Withdraws the result that was shared last: it is not sent."""
        if self._made is not None:
            self._shared.discard(self._made.name)
            self._made.close()
            self._made = None

    def end(self, frame: pb.WorkerFrame) -> None:
        """Returns the segments, and marks in the terminal frame which are free."""
        if self._arguments is not None:
            if self._arguments_are_free():
                kind = frame.WhichOneof("frame")
                getattr(frame, kind or "failure").arguments_free = True
                self._shared.keep(self._arguments)
            else:
                self._arguments.close()
        for segment in (self._result, self._made):
            if segment is not None:
                self._shared.keep(segment)

    def _keep_track(self, make: Callable[[], mmap.mmap]) -> mmap.mmap:
        self._forks = _Forks.count
        mapping = make()
        self._mapping = weakref.ref(mapping)
        return mapping

    def _arguments_are_free(self) -> bool:
        if self._mapping is None:
            return True
        return self._mapping() is None and self._forks == _Forks.count


class ArgumentsReader:
    """Reads the large parts of the arguments while they are decoded.

    Attributes:
        size: how many bytes they take.
    """

    def __init__(
        self,
        segment: Segment,
        size: int,
        keep_track: Callable[[Callable[[], mmap.mmap]], mmap.mmap],
    ) -> None:
        self.size = size
        self._segment = segment
        self._keep_track = keep_track
        self._view: memoryview | None = None

    def copy(self, begin: int, end: int) -> bytes:
        """Returns a copy of these bytes."""
        return self._segment.copy(begin, end)

    def view(self, begin: int, end: int) -> memoryview:
        """Returns a view of these bytes; all views keep one mapping alive."""
        if self._view is None:
            mapping = self._keep_track(lambda: self._segment.map(self.size))
            self._view = memoryview(mapping)
        return self._view[begin:end]
