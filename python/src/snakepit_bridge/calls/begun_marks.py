"""A page of shared memory that shows the host which of several simultaneous calls
began.

The host writes the first word: when it is not 0, the conversation is over and no
further call begins. The worker writes the others: it stores the number of a call in the
call's word before it begins the call, and reads the first word after that. The host
stores first and reads second, too, so at least one of them sees the other's store.

Calls share a word whose numbers differ by a multiple of the number of words. The word
has the highest number of those that began: a call has certainly not begun while the word
has a smaller number than its own.
"""

from __future__ import annotations

import threading

from snakepit_bridge.calls.call_page import PAGE_SIZE, make_page

__all__ = ["BegunMarks"]

_OVER = 0
_FIRST = 1
_MARKS = PAGE_SIZE // 8 - _FIRST


class BegunMarks:
    """The page of a worker that takes several calls at once."""

    def __init__(self, path: str) -> None:
        """Creates the page, in a directory in shared memory.

        Raises:
            OSError: there is no room for it, or it exists.
        """
        self._words = memoryview(make_page(path)).cast("Q")
        self._lock = threading.Lock()
        self._barrier = threading.Lock()

    def announce(self, number: int) -> None:
        """Notes that a call is about to begin, from any thread.

        This lock and the one that is held around `may_begin` keep the load there behind
        this store, as `CallPage.announce` explains.
        """
        word = _FIRST + number % _MARKS
        with self._lock:
            self._words[word] = max(self._words[word], number)

    def begins(self, number: int) -> bool:
        """Announces a call and returns whether it may begin, for a thread that holds no
        lock."""
        self.announce(number)
        with self._barrier:
            return self.may_begin(number)

    def may_begin(self, number: int) -> bool:
        """Returns whether a call that was announced may begin; False after the end of
        the conversation. To be called with a lock held that was acquired after
        `announce`."""
        return self._words[_OVER] == 0
