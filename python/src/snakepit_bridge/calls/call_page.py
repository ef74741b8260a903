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

The rest of the page keeps answers that wait to leave with those that follow. The host
reads them there if the worker dies, or runs one call for long: so none is lost or late.
Each has its length before it, in two bytes. `kept` is `round * 65536 + length`: up to
that length, the answers are whole. A new round writes over those of the one before, so
what is read while the round changes is not to be used.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading

__all__ = ["CallPage"]

SIZE = 4096
# The distance is less than this.
REACH = 64

_BEGUN = 0
_TAKEN = 1
_KEPT = 2
ANSWERS_AT = 24
ANSWERS_BYTES = SIZE - ANSWERS_AT
ROUND = 1 << 16
_LENGTH = struct.Struct("<H")


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
            memory = memoryview(mmap.mmap(file, SIZE))
        finally:
            os.close(file)
        self._words = memory.cast("Q")
        self._answers = memory[ANSWERS_AT:]
        self._round = 0
        self._end = 0
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

    def keep(self, answer: bytes) -> bool:
        """Keeps an answer until it has left, with those before it; one thread calls
        this. Returns False if there is no room: all have to leave now, and the next
        one begins a new round."""
        begin = self._end
        at = begin + _LENGTH.size
        end = at + len(answer)
        if end > ANSWERS_BYTES:
            self._end = 0
            return False
        if begin == 0:
            self._round += ROUND
        # Two locks, so that the host never sees the second without the first:
        # `announce` says why.
        with self._fence:
            self._answers[begin:end] = _LENGTH.pack(end - at) + answer
        with self._fence:
            self._words[_KEPT] = self._round + end
        self._end = end
        return True
