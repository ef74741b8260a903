"""What crosses beside the frames where the host has no shared memory with the worker.

Then a relay stands between them, and has: it writes what the host sends to the files of
the worker's attachments, and sends what the worker has in its files
(docs/bridge-protocol.md, section 8).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from snakepit_bridge.frames import Chunk, End, Result

if TYPE_CHECKING:
    from snakepit_bridge.frames import WorkerFrame

# Kinds of messages: bytes of an attachment, and the host's action on a file of them.
BYTES = 2
SHORTENED = 3
CLOSED = 4
# Name, offset and size. 64 bytes: what follows is aligned for numbers of every size.
_PART = struct.Struct(">24sQQ24x")
HEAD = _PART.size


class SegmentPart(NamedTuple):
    """A part of a file of attachments."""

    name: str
    offset: int
    size: int

    @classmethod
    def read(cls, data: memoryview) -> SegmentPart:
        """Reads the head of a message; raises `ValueError` if it is none."""
        name, offset, size = _PART.unpack_from(data)
        return cls(name.rstrip(b"\0").decode("ascii"), offset, size)

    def head(self) -> bytes:
        """Returns the head of a message."""
        return _PART.pack(self.name.encode("ascii"), self.offset, self.size)


def announced(frame: WorkerFrame) -> SegmentPart | None:
    """Returns where the attachment of a frame is, if it has one."""
    if not isinstance(frame, (Result, Chunk, End)) or frame.attachment is None:
        return None
    attachment = frame.attachment
    return SegmentPart(attachment.name, attachment.offset, attachment.size)
