"""A file in shared memory that holds one value after another.

Most of a file's cost is that the kernel finds, clears and frees its pages. So the file
is kept, and the next value overwrites the previous one. One call at a time uses it: the
host chooses which, and writes to it only while no call uses it.
"""

from __future__ import annotations

import mmap
import os

from snakepit_bridge.calls.large_bytes import copy_bytes
from snakepit_bridge.calls.shared_file import NoRoom, write_all

__all__ = ["Segment"]


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
