"""A file in shared memory that values take turns in.

What a file costs are its pages, which the kernel finds, clears and frees for each;
so it is kept, and the next value is written over the one before. One call at a time
has it: the host says which, and writes to it only while none has.
"""

from __future__ import annotations

import mmap
import os

from snakepit_bridge.calls.large_bytes import copy_bytes
from snakepit_bridge.calls.shared_file import NoRoom, write_all

__all__ = ["Segment"]


class Segment:
    """The worker's side of one, used by the thread that runs its call.

    Attributes:
        name: what the frames call it.
    """

    def __init__(self, name: str, file: int) -> None:
        """Takes an open file, which can be read and written."""
        self.name = name
        self._file = file
        # Its pages are found once and not for each value. It is seen by nobody
        # but this class: what a tool gets is a copy, or a mapping of its own.
        self._kept: mmap.mmap | None = None

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return os.fstat(self._file).st_size

    def copy(self, begin: int, end: int) -> bytes:
        """Returns bytes of their own."""
        return copy_bytes(self._mapped(end), begin, end)

    def map(self, size: int) -> mmap.mmap:
        """Returns the first bytes as a mapping of their own, which can be written
        to: a page that is written to becomes a copy, the others are shared."""
        return mmap.mmap(self._file, size, access=mmap.ACCESS_COPY)

    def write(self, part: memoryview, offset: int) -> None:
        """Writes bytes at their place.

        Raises:
            NoRoom: they find no room.
        """
        # Only what has pages is written through memory: where there is no room for
        # a new one that would be the end of the process.
        there = min(max(self.size - offset, 0), part.nbytes)
        try:
            if there > 0:
                self._mapped(offset + there)[offset : offset + there] = part[:there]
            write_all(self._file, part[there:], offset + there)
        except OSError:
            raise NoRoom from None

    def close(self) -> None:
        """Lets go of it; mappings of it that a tool has are the tool's alone then."""
        if self._kept is not None:
            self._kept.close()
        os.close(self._file)

    def _mapped(self, size: int) -> mmap.mmap:
        if self._kept is None or len(self._kept) < size:
            if self._kept is not None:
                self._kept.close()
            self._kept = mmap.mmap(self._file, self.size)
        return self._kept
