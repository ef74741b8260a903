"""A file in shared memory, and the parts of a value that are written into it."""

from __future__ import annotations

import os
from typing import Any, Protocol

__all__ = ["AttachmentParts", "NoRoom", "SharedFile", "write_all"]

# Elements of every dtype are aligned, also for vector instructions.
ALIGNMENT = 64
# Others need shared memory too: of what is free, one value takes no more than this.
SHARE_OF_FREE = 0.5


class NoRoom(Exception):
    """Shared memory is full, or the value is larger than the limit."""


class SharedFile:
    """Made when something is written to it for the first time."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: int | None = None

    def write(self, part: memoryview, offset: int) -> None:
        """Writes bytes at their place.

        Raises:
            NoRoom: they find no room.
        """
        try:
            if self._file is None:
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                self._file = os.open(self._path, flags, 0o600)
            write_all(self._file, part, offset)
        except OSError:
            raise NoRoom from None

    def detach(self) -> int | None:
        """Returns the open file, which is the caller's to close; None if it was not
        made."""
        file, self._file = self._file, None
        return file

    def close(self) -> None:
        """Lets go of it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def remove(self) -> None:
        """Removes it, if it was made and is still there."""
        if self._file is None:
            return
        try:
            os.unlink(self._path)
        except FileNotFoundError:
            pass


def write_all(file: int, part: memoryview, offset: int) -> None:
    """Writes bytes at their place, where there may be no memory for them yet.

    Raises:
        NoRoom: they would take too much of what is free.
        OSError: they find no room.
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
    """What the parts of a value are written into."""

    def write(self, part: memoryview, offset: int) -> None:
        """Writes bytes at their place.

        Raises:
            NoRoom: they find no room.
        """


class AttachmentParts:
    """The large parts of one value, written one after the other.

    Attributes:
        size: how many bytes they take, with the gaps between them.
    """

    def __init__(
        self, file: Writable, from_bytes: int, limit_bytes: int, begin: int = 0
    ) -> None:
        """Names the file and where in it they begin.

        Args:
            file: what they are written into.
            from_bytes: smaller parts are not taken.
            limit_bytes: what they may take together.
            begin: where the first one is.
        """
        self.size = 0
        self._file = file
        self._from_bytes = from_bytes
        self._limit_bytes = limit_bytes
        self._begin = begin

    def take(self, data: Any) -> int | None:
        """Writes a part and returns where it is; None if it is a small one.

        Raises:
            NoRoom: it finds none.
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
