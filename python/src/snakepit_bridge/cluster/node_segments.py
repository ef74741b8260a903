"""The files of attachments on a node: the relay's side of what it shares with the worker.

The host owns them, as on one machine (docs/decisions/0016); the relay carries out the
host's instructions, and drops each file when the host does.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import stat
from collections.abc import Callable

from snakepit_bridge.bridge.framed_transport.beside import Place
from snakepit_bridge.cluster.directories import SHARE_OF_FREE, SHARED_MEMORY

__all__ = ["NodeSegments"]

# Does not block on a pipe that has the name of such a file.
_RECEIVED = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MADE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class NodeSegments:
    """The files that host or worker still use; one thread uses this object."""

    def __init__(self, directory: str, no_room: Callable[[str], None]) -> None:
        """Uses the worker's directory.

        Args:
            directory: In shared memory, and private.
            no_room: Called with words when bytes of the host are dropped: the worker
                refuses the call that they belong to.
        """
        self._directory = directory
        self._no_room = no_room
        self._segments: dict[str, _Segment] = {}

    def room(self, place: Place) -> memoryview | None:
        """Returns the place for bytes of the host; None if there is no room for
        them.
        """
        try:
            segment = self._segments.get(place.name)
            if segment is None:
                path = self._path(place.name)
                segment = _Segment(os.open(path, _MADE, 0o600))
                self._segments[place.name] = segment
            return segment.grown(place.offset, place.offset + place.size)
        except OSError:
            # The worker must not find incomplete data either.
            self.close(place.name)
            self._no_room(
                f"{SHARED_MEMORY} of this node has no room for {place.size} bytes"
            )
            return None

    def content(self, place: Place) -> memoryview:
        """Returns bytes of the worker; none if they are not where it says."""
        try:
            segment = self._segments.get(place.name) or self._received(place.name)
            return segment.view(place.offset, place.offset + place.size)
        except OSError:
            return memoryview(b"")

    def shorten(self, name: str, size: int) -> None:
        """Frees the memory beyond this many bytes: no call uses it."""
        if (segment := self._segments.get(name)) is not None:
            segment.shorten(size)

    def close(self, name: str) -> None:
        """Drops a file; a mapping of it that a tool keeps does not change."""
        segment = self._segments.pop(name, None)
        if segment is not None:
            segment.close()
        # It still exists if the worker never opened it.
        with contextlib.suppress(OSError):
            os.unlink(self._path(name))

    def _received(self, name: str) -> _Segment:
        path = self._path(name)
        segment = _Segment(os.open(path, _RECEIVED))
        os.unlink(path)
        self._segments[name] = segment
        return segment

    def _path(self, name: str) -> str:
        if not name.isalnum():
            raise OSError(f"no attachment is called {name!r}")
        return os.path.join(self._directory, name)


class _Segment:
    """An open file, and the mapping that is kept, so that its pages are found once."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._kept: mmap.mmap | None = None
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise OSError("it is no file")

    def grown(self, begin: int, end: int) -> memoryview:
        """Returns a part that is there from now on.

        Raises:
            OSError: there is no room for it.
        """
        size = os.fstat(self._file).st_size
        if end > size:
            facts = os.fstatvfs(self._file)
            if end - size > facts.f_bavail * facts.f_frsize * SHARE_OF_FREE:
                raise OSError("it would take too much of what is free")
            # Writing to a page without memory would kill this process.
            os.posix_fallocate(self._file, size, end - size)
        return self.view(begin, end)

    def view(self, begin: int, end: int) -> memoryview:
        """Returns an existing part; raises `OSError` if there is none."""
        size = os.fstat(self._file).st_size
        if end > size:
            raise OSError(f"it has {size} bytes")
        if self._kept is None or len(self._kept) < end:
            # Views of the one before keep that for as long as they are needed.
            self._kept = mmap.mmap(self._file, size)
        return memoryview(self._kept)[begin:end]

    def shorten(self, size: int) -> None:
        if os.fstat(self._file).st_size > size:
            self._kept = None
            os.truncate(self._file, size)

    def close(self) -> None:
        self._kept = None
        os.close(self._file)
