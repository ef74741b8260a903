"""The file that holds the chunks of one stream.

With a file for each chunk the kernel would find, clear and free pages for each, which
costs several times as much as writing the bytes. The host reads a chunk when it
arrives, and the credit that it grants reports which chunks it took. Only their room is
used again, never that of a chunk that is still under way.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.calls.shared_file import AttachmentParts, NoRoom, SharedFile
from snakepit_bridge.calls.shared_memory import SMALLER
from snakepit_bridge.values.encode import Attachment

__all__ = ["StreamFile"]

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
    ) -> tuple[bytes, pb.Attachment | None] | None:
        """Encodes a chunk with its large parts in the file.

        Args:
            encode: writes the image.
            sent: how many chunks of the stream were sent before it.
            arrived: how many of those the host has taken.

        Returns:
            The image and the attachment, or None if there is no room.
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
            image = encode(parts)
        except NoRoom:
            return None
        if parts.size == 0:
            return image, None
        self._free.pop()
        self._out.append((sent, room))
        self._is_announced = True
        return image, pb.Attachment(name=self._name, size=parts.size, offset=begin)

    def close(self) -> None:
        """Closes the file; the host removes it, if a frame has named it."""
        if not self._is_announced:
            self._file.remove()
        self._file.close()
