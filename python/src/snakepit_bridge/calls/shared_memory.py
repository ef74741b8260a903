"""Large parts of values, handed over as files in shared memory.

Who receives a file removes it as soon as it is open; who made it removes what
was never received; what both leave behind goes with the worker's directory.
A file that the chunks of a stream take turns in is the same for both: it is only
open for longer.
"""

from __future__ import annotations

import itertools
import mmap
import os
import re
import stat
from collections.abc import Callable

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.calls.shared_file import AttachmentParts, NoRoom, SharedFile
from snakepit_bridge.calls.stream_file import StreamFile
from snakepit_bridge.values.encode import Attachment

__all__ = ["AttachmentInvalid", "SharedMemory"]

# Nobody is waited for at a pipe that has the name of a file.
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# What the host calls its files.
_HOSTS_NAME = re.compile(r"h[0-9]{1,15}")


class AttachmentInvalid(Exception):
    """A frame names an attachment that is not there, or not as announced."""


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
        file = SharedFile(os.path.join(self._directory, name))
        parts = AttachmentParts(file, self._from_bytes, self._limit_bytes)
        try:
            image = encode(parts)
        except NoRoom:
            file.remove()
            return encode(None), None
        except BaseException:
            file.remove()
            raise
        finally:
            file.close()
        if parts.size == 0:
            return image, None
        return image, pb.Attachment(name=name, size=parts.size)

    def stream_file(self) -> StreamFile:
        """Returns a file for the chunks of one stream."""
        name = f"s{next(self._numbers)}"
        return StreamFile(self._directory, name, self._from_bytes, self._limit_bytes)
