"""Where the files of one worker are on its node."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import NamedTuple

__all__ = ["SHARED_MEMORY", "SHARE_OF_FREE", "Directories"]

SHARED_MEMORY = "/dev/shm"
# Other programs need shared memory too: one value takes at most this much of what is
# free.
SHARE_OF_FREE = 0.5


class Directories(NamedTuple):
    """The private directories of one worker on its node.

    Attributes:
        private: Holds its sockets.
        shared: Holds its attachments, in shared memory; None where there is none.
    """

    private: str
    shared: str | None

    @classmethod
    def make(cls) -> Directories:
        """Makes them, 0700; raises `OSError` if there is no room for files at all."""
        # Short: it holds Unix sockets.
        private = tempfile.mkdtemp(prefix="snakepit-")
        try:
            return cls(private, tempfile.mkdtemp(prefix="snakepit-", dir=SHARED_MEMORY))
        except OSError:
            return cls(private, None)

    def room_for_one_value(self) -> int:
        """Returns how many bytes of a value can cross beside frames."""
        if self.shared is None:
            return 0
        facts = os.statvfs(self.shared)
        return int(facts.f_bavail * facts.f_frsize * SHARE_OF_FREE)

    def remove(self) -> None:
        """Removes them, as often as it is called."""
        for directory in filter(None, self):
            shutil.rmtree(directory, ignore_errors=True)
