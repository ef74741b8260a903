"""Files in shared memory that hold values: those of one call, and those of a stream.

Most of a file's cost is that the kernel finds, clears and frees its pages. So a file is
kept, and the next value overwrites the previous one. One call at a time uses it: the
host chooses which, and writes to it only while no call uses it.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from snakepit_bridge import frames
from snakepit_bridge.calls.memory.shared_memory import SMALLER
from snakepit_bridge.own_imports import ctypes
from snakepit_bridge.values.encode import Attachment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.calls.memory.shared_memory import SharedMemory


# Source: mallopt(3), the upper limit of M_MMAP_THRESHOLD. Smaller objects are in memory
# that is reused.
LARGE_BYTES = 32 * 1024 * 1024


def copy_bytes(mapping: mmap.mmap, begin: int, end: int) -> bytes:
    """Returns a copy of these bytes.

    Args:
        mapping: can be written to.
        begin: of the first byte.
        end: behind the last one.
    """
    # Slicing handles bytes outside of the mapping, which have no address.
    if end - begin < LARGE_BYTES or not 0 <= begin <= end <= len(mapping):
        return mapping[begin:end]
    if _Copy.large is None:
        _Copy.large = _large_copy() or _slice_copy
    return _Copy.large(mapping, begin, end)


class _Copy:
    """How to copy large bytes, determined on first use: the imports take milliseconds,
    and few workers get such large bytes.
    """

    large: Callable[[mmap.mmap, int, int], bytes] | None = None


def _slice_copy(mapping: mmap.mmap, begin: int, end: int) -> bytes:
    return mapping[begin:end]


def _large_copy() -> Callable[[mmap.mmap, int, int], bytes] | None:
    """Returns a function that copies into huge pages; None if that is impossible."""
    try:
        # Own function objects: other code may change the types of those of `pythonapi`.
        new_bytes = ctypes.PYFUNCTYPE(
            ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t
        )(("PyBytes_FromStringAndSize", ctypes.pythonapi))
        address_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(
            ("PyBytes_AsString", ctypes.pythonapi)
        )
        advise = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
        )(("madvise", ctypes.CDLL(None)))
        huge_pages = mmap.MADV_HUGEPAGE
    except (ImportError, AttributeError, OSError):
        return None

    def copy(mapping: mmap.mmap, begin: int, end: int) -> bytes:
        size = end - begin
        # Its content may be set while nothing else refers to it.
        # Source: Python/C API, PyBytes_FromStringAndSize and PyBytes_AsString.
        copied: bytes = new_bytes(None, size)
        address = address_of(copied)
        first = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE
        behind = (address + size) // mmap.PAGESIZE * mmap.PAGESIZE
        # If this is refused, the memory has pages of the usual size.
        advise(first, behind - first, huge_pages)
        # While this exists, the mapping cannot be closed.
        source = ctypes.c_char.from_buffer(mapping, begin)
        ctypes.memmove(address, ctypes.addressof(source), size)
        return copied

    return copy


class Segment:
    """The worker's side of a segment, used by the thread that runs its call.

    Attributes:
        name: its name in frames.
    """

    def __init__(self, name: str, file: int) -> None:
        """Takes an open file, which can be read and written."""
        self.name = name
        self._file = file
        # A mapping that is kept, so that its pages are found only once. Only this class
        # uses it: a tool gets a copy, or a mapping of its own.
        self._kept: mmap.mmap | None = None

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return os.fstat(self._file).st_size

    def copy(self, begin: int, end: int) -> bytes:
        """Returns a copy of these bytes."""
        return copy_bytes(self._mapped(end), begin, end)

    def map(self, size: int) -> mmap.mmap:
        """Returns a new mapping of the first bytes. It can be written to: a page that is
        written to becomes a copy, the others stay shared."""
        return mmap.mmap(self._file, size, access=mmap.ACCESS_COPY)

    def write(self, part: memoryview, offset: int) -> None:
        """Writes bytes at an offset.

        Raises:
            NoRoom: there is no room for them.
        """
        # Only existing pages are written through the mapping: if there is no room for a
        # new page, that would kill the process.
        there = min(max(self.size - offset, 0), part.nbytes)
        try:
            if there > 0:
                self._mapped(offset + there)[offset : offset + there] = part[:there]
            write_all(self._file, part[there:], offset + there)
        except OSError:
            raise NoRoom from None

    def close(self) -> None:
        """Closes it; a mapping of it that a tool keeps stays valid."""
        if self._kept is not None:
            self._kept.close()
        os.close(self._file)

    def _mapped(self, size: int) -> mmap.mmap:
        if self._kept is None or len(self._kept) < size:
            if self._kept is not None:
                self._kept.close()
            self._kept = mmap.mmap(self._file, self.size)
        return self._kept


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
        "_mapping",
        "_new",
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
        self._new: Segment | None = None
        self._mapping: weakref.ref[mmap.mmap] | None = None
        self._forks = 0

    def reader(self) -> ArgumentsReader | None:
        """Returns a reader for the large parts of the arguments, if there are any."""
        if self._arguments is None:
            return None
        return ArgumentsReader(self._arguments, self._size, self._keep_track)

    def share(
        self, encode: Callable[[Attachment | None], bytes]
    ) -> tuple[bytes, frames.Attachment | None]:
        """Encodes the result, with its large parts in a segment.

        If there is no room for them, the encoding has everything.
        """
        segment = self._result
        if self._arguments is not None and self._arguments_are_free():
            # No mapping of it is left, and no child can inherit one from here on.
            self._mapping = None
            segment = self._arguments
        if segment is not None:
            return self._shared.share_in(segment, encode)
        encoding, self._new = self._shared.share_in_new_segment(encode)
        if self._new is None:
            return encoding, None
        return encoding, frames.Attachment(self._new.name, self._new.size)

    def take_back(self) -> None:
        """Withdraws the result that was shared last: it is not sent."""
        if self._new is not None:
            self._shared.discard(self._new.name)
            self._new.close()
            self._new = None

    def end(self, frame: frames.Result | frames.End | frames.Failure) -> None:
        """Returns the segments, and marks in the terminal frame which are free."""
        if self._arguments is not None:
            if self._arguments_are_free():
                frame.arguments_free = True
                self._shared.keep(self._arguments)
            else:
                self._arguments.close()
        for segment in (self._result, self._new):
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


# Aligns elements of every dtype, also for vector instructions.
ALIGNMENT = 64
# Other programs need shared memory too: one value takes at most this much of what is
# free.
SHARE_OF_FREE = 0.5


class NoRoom(Exception):
    """Shared memory is full, or the value is larger than the limit."""


class SharedFile:
    """A file that is created by the first write to it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: int | None = None

    def write(self, part: memoryview, offset: int) -> None:
        """Writes bytes at an offset.

        Raises:
            NoRoom: there is no room for them.
        """
        try:
            if self._file is None:
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                self._file = os.open(self._path, flags, 0o600)
            write_all(self._file, part, offset)
        except OSError:
            raise NoRoom from None

    def detach(self) -> int | None:
        """Returns the open file, which the caller has to close; None if there is none."""
        file, self._file = self._file, None
        return file

    def close(self) -> None:
        """Closes it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def remove(self) -> None:
        """Removes it, if it was created and is still there."""
        if self._file is None:
            return
        try:
            os.unlink(self._path)
        except FileNotFoundError:
            pass


def write_all(file: int, part: memoryview, offset: int) -> None:
    """Writes bytes at an offset for which the file may have no memory yet.

    Raises:
        NoRoom: they would take too much of what is free.
        OSError: there is no room for them.
    """
    if part.nbytes == 0:
        return
    facts = os.fstatvfs(file)
    if part.nbytes > facts.f_bavail * facts.f_frsize * SHARE_OF_FREE:
        raise NoRoom
    while part.nbytes > 0:
        written = os.pwrite(file, part, offset)
        part = part[written:]
        offset += written


class Writable(Protocol):
    """What the parts of a value are written to."""

    def write(self, part: memoryview, offset: int) -> None:
        """Writes bytes at an offset.

        Raises:
            NoRoom: there is no room for them.
        """


class AttachmentParts:
    """The large parts of one value, written one after another.

    Attributes:
        size: how many bytes they take, including the gaps between them.
    """

    def __init__(
        self, file: Writable, from_bytes: int, limit_bytes: int, begin: int = 0
    ) -> None:
        """Begins without parts.

        Args:
            file: what they are written to.
            from_bytes: smaller parts are refused.
            limit_bytes: how much they may take together.
            begin: the offset of the first part.
        """
        self.size = 0
        self._file = file
        self._from_bytes = from_bytes
        self._limit_bytes = limit_bytes
        self._begin = begin

    def take(self, data: Any) -> int | None:
        """Writes a part and returns its offset; None if it is too small.

        Raises:
            NoRoom: there is no room for it.
        """
        part = memoryview(data).cast("B")
        if part.nbytes < self._from_bytes:
            return None
        offset = -(-self.size // ALIGNMENT) * ALIGNMENT
        if offset + part.nbytes > self._limit_bytes:
            raise NoRoom
        self._file.write(part, self._begin + offset)
        self.size = offset + part.nbytes
        return offset


# The room of one chunk; pages that were never written to take no memory. A larger chunk
# has a file of its own, so that a stream keeps at most its credit of these rooms.
CHUNK_ROOM = 1 << 20


class StreamFile:
    """The worker's side, used by the thread that runs the stream's tool."""

    def __init__(
        self, directory: str, name: str, from_bytes: int, limit_bytes: int
    ) -> None:
        """Names a file that is created by the first write.

        Args:
            directory: the worker's directory in shared memory.
            name: no other file there has it.
            from_bytes: parts of other values are shared from this size on; a
                quarter of it is enough here.
            limit_bytes: how much one value may take.
        """
        self._name = name
        self._file = SharedFile(os.path.join(directory, name))
        self._from_bytes = from_bytes // SMALLER
        self._limit_bytes = min(limit_bytes, CHUNK_ROOM)
        self._is_announced = False
        self._rooms = 0
        # The room that became free last is the most likely to be in the cache.
        self._free: list[int] = []
        self._out: deque[tuple[int, int]] = deque()

    def share(
        self,
        encode: Callable[[Attachment | None], bytes],
        sent: int,
        arrived: int,
    ) -> tuple[bytes, frames.Attachment | None] | None:
        """Encodes a chunk with its large parts in the file.

        Args:
            encode: writes the encoding.
            sent: how many chunks of the stream were sent before it.
            arrived: how many of those the host has taken.

        Returns:
            The encoding and the attachment, or None if there is no room.
        """
        while self._out and self._out[0][0] < arrived:
            self._free.append(self._out.popleft()[1])
        if not self._free:
            self._free.append(self._rooms)
            self._rooms += 1
        room = self._free[-1]
        begin = room * CHUNK_ROOM
        parts = AttachmentParts(self._file, self._from_bytes, self._limit_bytes, begin)
        try:
            encoding = encode(parts)
        except NoRoom:
            return None
        if parts.size == 0:
            return encoding, None
        self._free.pop()
        self._out.append((sent, room))
        self._is_announced = True
        return encoding, frames.Attachment(self._name, parts.size, begin)

    def close(self) -> None:
        """Closes the file; the host removes it, if a frame has named it."""
        if not self._is_announced:
            self._file.remove()
        self._file.close()
