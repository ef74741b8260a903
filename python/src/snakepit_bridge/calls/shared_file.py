"""A file in shared memory, and the large parts of a value that are written to it."""

from __future__ import annotations

import os
from typing import Any, Protocol

__all__ = ["AttachmentParts", "NoRoom", "SharedFile", "write_all"]

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
