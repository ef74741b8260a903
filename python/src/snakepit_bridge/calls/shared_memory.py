"""Large parts of values, handed over as files in shared memory.

Who receives a file removes it as soon as it is open; who made it removes what
was never received; what both leave behind goes with the worker's directory.
"""

from __future__ import annotations

import itertools
import mmap
import os
import re
import stat
from collections.abc import Callable
from typing import Any

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.values.encode import Attachment

__all__ = ["AttachmentInvalid", "SharedMemory"]

# Elements of every dtype are aligned, also for vector instructions.
ALIGNMENT = 64
# Others need shared memory too: of what is free, one value takes no more than this.
SHARE_OF_FREE = 0.5
# Nobody is waited for at a pipe that has the name of a file.
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# What the host calls its files.
_HOSTS_NAME = re.compile(r"h[0-9]{1,15}")


class AttachmentInvalid(Exception):
    """A frame names an attachment that is not there, or not as announced."""


class _NoRoom(Exception):
    """Shared memory is full, or the value is larger than the limit."""


class SharedMemory:
    """The directory that a worker and its host share."""

    def __init__(self, directory: str, from_bytes: int, limit_bytes: int) -> None:
        """Names it.

        Args:
            directory: a private directory in shared memory.
            from_bytes: parts of a value from this size on are shared.
            limit_bytes: what one value may take.
        """
        self._directory = directory
        self._from_bytes = from_bytes
        self._limit_bytes = limit_bytes
        self._numbers = itertools.count(1)

    def take(self, attachment: pb.Attachment) -> memoryview:
        """Returns what the host shared: writable, and nobody else's any more.

        Raises:
            AttachmentInvalid: there is no such file, or it is not as announced.
        """
        if _HOSTS_NAME.fullmatch(attachment.name) is None:
            raise AttachmentInvalid(f"no attachment is called {attachment.name!r}")
        path = os.path.join(self._directory, attachment.name)
        try:
            file = os.open(path, _OPEN)
        except OSError as error:
            raise AttachmentInvalid(
                f"the attachment {attachment.name} cannot be opened: {error.strerror}"
            ) from None
        try:
            os.unlink(path)
            facts = os.fstat(file)
            announced = 0 < attachment.size == facts.st_size
            if not stat.S_ISREG(facts.st_mode) or not announced:
                raise AttachmentInvalid(
                    f"the attachment {attachment.name} has {facts.st_size} bytes "
                    f"where {attachment.size} were announced"
                )
            # A page that the tool writes to becomes a copy; the others are shared.
            return memoryview(mmap.mmap(file, attachment.size, access=mmap.ACCESS_COPY))
        finally:
            os.close(file)

    def discard(self, attachment: pb.Attachment) -> None:
        """Removes what nobody will receive."""
        path = os.path.join(self._directory, os.path.basename(attachment.name))
        try:
            os.unlink(path)
        except OSError:
            pass

    def share(
        self, encode: Callable[[Attachment | None], bytes]
    ) -> tuple[bytes, pb.Attachment | None]:
        """Encodes a value with its large parts beside it.

        Where there is no room for them all of it is in the image.
        """
        name = f"w{next(self._numbers)}"
        path = os.path.join(self._directory, name)
        file = _File(path, self._from_bytes, self._limit_bytes)
        try:
            image = encode(file)
        except _NoRoom:
            file.remove()
            return encode(None), None
        except BaseException:
            file.remove()
            raise
        finally:
            file.close()
        if file.size == 0:
            return image, None
        return image, pb.Attachment(name=name, size=file.size)


class _File:
    """The attachment of one value; the file is made with its first part."""

    def __init__(self, path: str, from_bytes: int, limit_bytes: int) -> None:
        self.size = 0
        self._path = path
        self._from_bytes = from_bytes
        self._limit_bytes = limit_bytes
        self._file: int | None = None

    def take(self, data: Any) -> int | None:
        """Writes a part and returns where it is; None if it is a small one."""
        part = memoryview(data).cast("B")
        if part.nbytes < self._from_bytes:
            return None
        offset = -(-self.size // ALIGNMENT) * ALIGNMENT
        if offset + part.nbytes > self._limit_bytes:
            raise _NoRoom
        try:
            self._write(part, offset)
        except OSError:
            raise _NoRoom from None
        self.size = offset + part.nbytes
        return offset

    def close(self) -> None:
        """Lets go of the file."""
        if self._file is not None:
            os.close(self._file)

    def remove(self) -> None:
        """Removes the file, if there is one."""
        if self._file is not None:
            os.unlink(self._path)

    def _write(self, part: memoryview, offset: int) -> None:
        if self._file is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._file = os.open(self._path, flags, 0o600)
        facts = os.fstatvfs(self._file)
        if part.nbytes > facts.f_bavail * facts.f_frsize * SHARE_OF_FREE:
            raise _NoRoom
        while part.nbytes > 0:
            written = os.pwrite(self._file, part, offset)
            part = part[written:]
            offset += written
