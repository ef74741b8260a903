"""Large parts of values, handed over as files in shared memory.

The receiver of a file removes it as soon as it is open, and the sender removes files
that were never received. All others are removed with the worker's directory. The same
is true for a segment, which only stays open for longer.
"""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Callable

from snakepit_bridge import frames
from snakepit_bridge.values.encode import Attachment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from snakepit_bridge.calls.memory.segments import CallMemory, Segment, StreamFile

# Does not block on a pipe that has the name of such a file.
_OPEN = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# The room that a stream has already pays for smaller parts than a new file does.
SMALLER = 4
# Of the names that the host gives its files: h and a number.
_MOST_DIGITS = 15


# Few workers share large values, and each import makes every start slower, so the
# imports happen when a value is shared.


class AttachmentInvalid(Exception):
    """A frame names an attachment that is missing, or not as announced."""


class LargePart(Exception):
    """A part of the value is large. Nothing was written anywhere."""


class SmallParts:
    """An `Attachment` that takes nothing: small parts stay in the encoding."""

    def __init__(self, from_bytes: int) -> None:
        """Parts from this size on are large."""
        self._from_bytes = from_bytes

    def take(self, data: Any) -> None:
        """Returns None for a small part.

        Raises:
            LargePart: it is large.
        """
        if memoryview(data).nbytes >= self._from_bytes:
            raise LargePart


class SharedMemory:
    """The directory that a worker and its host share."""

    def __init__(self, directory: str, from_bytes: int, limit_bytes: int) -> None:
        """Uses a directory that exists.

        Args:
            directory: a private directory in shared memory.
            from_bytes: parts of a value from this size on are shared.
            limit_bytes: how much one value may take.
        """
        self._directory = directory
        self._from_bytes = from_bytes
        self._small = SmallParts(from_bytes)
        self._small_chunk = SmallParts(from_bytes // SMALLER)
        self._limit_bytes = limit_bytes
        self._numbers = itertools.count(1)
        # The segments that no call uses.
        self._segments: dict[str, Segment] = {}

    def call(self, frame: frames.Call) -> CallMemory | None:
        """Returns the shared memory of a call; None if it has none so far.

        Raises:
            AttachmentInvalid: the file is missing, or not as announced.
        """
        for name in frame.segments_gone:
            gone = self._segments.pop(name, None)
            if gone is not None:
                gone.close()
        attachment = frame.attachment
        if attachment is None and not frame.result_segment:
            return None
        result = self._segments.pop(frame.result_segment, None)
        try:
            arguments = None if attachment is None else self._arrived(attachment)
        except AttachmentInvalid:
            if result is not None:
                self.keep(result)
            raise
        size = 0 if attachment is None else attachment.size
        return self.of_call(arguments, size, result)

    def of_call(
        self,
        arguments: Segment | None = None,
        size: int = 0,
        result: Segment | None = None,
    ) -> CallMemory:
        """Returns the shared memory of a call that has these segments."""
        from snakepit_bridge.calls.memory.segments import CallMemory

        return CallMemory(self, arguments, size, result)

    def small(self, is_result: bool) -> SmallParts:
        """Returns what refuses the large parts of a result; or of a chunk."""
        return self._small if is_result else self._small_chunk

    def keep(self, segment: Segment) -> None:
        """Keeps a segment that no call uses any more."""
        self._segments[segment.name] = segment

    def _arrived(self, attachment: frames.Attachment) -> Segment:
        """Returns the segment that the host wrote to."""
        name = attachment.name
        segment = self._segments.pop(name, None) or self._opened(name)
        size = segment.size
        if not 0 < attachment.size <= size:
            segment.close()
            raise AttachmentInvalid(
                f"the attachment {name} has {size} bytes "
                f"where {attachment.size} were announced"
            )
        return segment

    def _opened(self, name: str) -> Segment:
        number = name[1:]
        if (
            not (name.startswith("h") and number.isascii() and number.isdigit())
            or len(number) > _MOST_DIGITS
        ):
            raise AttachmentInvalid(f"no attachment is called {name!r}")
        path = os.path.join(self._directory, name)
        try:
            file = os.open(path, _OPEN)
        except OSError as error:
            raise AttachmentInvalid(
                f"the attachment {name} cannot be opened: {error.strerror}"
            ) from None
        os.unlink(path)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise AttachmentInvalid(f"the attachment {name} is no file")
        from snakepit_bridge.calls.memory.segments import Segment

        return Segment(name, file)

    def discard(self, name: str) -> None:
        """Removes a file that will not be received."""
        path = os.path.join(self._directory, os.path.basename(name))
        try:
            os.unlink(path)
        except OSError:
            pass

    def share(
        self, encode: Callable[[Attachment | None], bytes]
    ) -> tuple[bytes, frames.Attachment | None]:
        """Encodes a value with its large parts in a file that is read once.

        If there is no room for them, the encoding has everything.
        """
        encoding, segment = self.share_in_new_segment(encode)
        if segment is None:
            return encoding, None
        attachment = frames.Attachment(segment.name, segment.size)
        segment.close()
        return encoding, attachment

    def share_in(
        self, segment: Segment, encode: Callable[[Attachment | None], bytes]
    ) -> tuple[bytes, frames.Attachment | None]:
        """Encodes a value with its large parts in a segment; see `share`."""
        from snakepit_bridge.calls.memory.segments import AttachmentParts, NoRoom

        parts = AttachmentParts(segment, self._from_bytes, self._limit_bytes)
        try:
            encoding = encode(parts)
        except NoRoom:
            return encode(None), None
        if parts.size == 0:
            return encoding, None
        return encoding, frames.Attachment(segment.name, parts.size)

    def share_in_new_segment(
        self, encode: Callable[[Attachment | None], bytes]
    ) -> tuple[bytes, Segment | None]:
        """Encodes a value with its large parts in a new segment; see `share`."""
        from snakepit_bridge.calls.memory.segments import (
            AttachmentParts,
            NoRoom,
            Segment,
            SharedFile,
        )

        name = f"w{next(self._numbers)}"
        file = SharedFile(os.path.join(self._directory, name))
        parts = AttachmentParts(file, self._from_bytes, self._limit_bytes)
        try:
            encoding = encode(parts)
            segment = file.detach() if parts.size > 0 else None
        except NoRoom:
            file.remove()
            return encode(None), None
        except BaseException:
            file.remove()
            raise
        finally:
            file.close()
        return encoding, None if segment is None else Segment(name, segment)

    def stream_file(self) -> StreamFile:
        """Returns a file for the chunks of one stream."""
        from snakepit_bridge.calls.memory.segments import StreamFile

        name = f"s{next(self._numbers)}"
        return StreamFile(self._directory, name, self._from_bytes, self._limit_bytes)
