"""A page of shared memory that shows the host which call the worker began last.

The host sends a few calls before the one that runs is over, and may take them back.
Two words of the page decide between the two processes which calls begin:

- `begun`, written by the worker: the number of the call that it began last. It stores
  the number before it looks whether the call was taken back.
- `taken`, written by the host: `floor * 64 + distance`. Calls up to `floor` do not begin
  any more, except the one that is `distance` below it, if that is not 0: the one that
  the host counts as running. The host stores the word before it reads `begun`.

Each side writes first and reads second, so at least one of them sees the other's write.
A call above `begun` has certainly not begun and never will; about the one at `begun`
the worker decides, and answers that it was taken back if it does not run it.
"""

from __future__ import annotations

import mmap
import os
import threading

__all__ = ["CallPage"]

SIZE = 4096
# The distance is less than this.
REACH = 64

_BEGUN = 0
_TAKEN = 1


class CallPage:
    """The page of one worker.

    Attributes:
        begun: the number of the call that began last.
    """

    def __init__(self, path: str) -> None:
        """Makes the page, in a directory in shared memory.

        Raises:
            OSError: there is no room for it, or it exists.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(path, flags, 0o600)
        try:
            # Not `ftruncate`: where the memory is used up, a store into a page that
            # the file does not have yet would kill the process.
            os.posix_fallocate(file, 0, SIZE)
            self._words = memoryview(mmap.mmap(file, SIZE)).cast("Q")
        finally:
            os.close(file)
        self._fence = threading.Lock()

    @property
    def begun(self) -> int:
        return self._words[_BEGUN]

    def announce(self, number: int) -> None:
        """Notes that a call is about to begin, in the order in which the calls came.

        `may_begin` says whether it may. The load of `taken` there must not overtake
        this store. One lock would not order them on ARM, where both may move into it
        from either side; an acquisition does not overtake the release before it, so
        two locks do: this one and the one that is held around `may_begin`.
        """
        with self._fence:
            self._words[_BEGUN] = number

    def may_begin(self, number: int) -> bool:
        """Returns whether a call that was announced may begin; False if it was taken
        back. To be called with a lock held that was acquired after `announce`."""
        taken = self._words[_TAKEN]
        floor = taken // REACH
        if number > floor:
            return True
        distance = taken % REACH
        return distance > 0 and number == floor - distance
