"""A page of shared memory that shows the host which call the worker began last.

The host sends a few calls before the running one is over, and may take them back.
Two words of the page decide between the two processes which calls begin:

- `begun`, written by the worker: the number of the call that it began last. It stores
the number before it checks whether the call was taken back. - `taken`, written by the
host: `floor * 64 + distance`. Calls up to `floor` do not begin
  any more, except the one that is `distance` below it, if that is not 0: the one that
  the host counts as running. The host stores the word before it reads `begun`.

Each side writes first and reads second, so at least one of them sees the other's write.
A call above `begun` has certainly not begun and never will; about the one at `begun`
the worker decides, and answers that it was taken back if it does not run it.

The rest of the page keeps answers that wait to be sent with the next ones. The host
reads them there if the worker dies, or runs one call for a long time: so none is lost
or late. Each is preceded by the header of the framed transport. `kept` is `round *
65536 + length`: up to that length, the answers are whole. A new round overwrites the
answers of the previous one, so data that was read while the round changed must not be
used.
"""

from __future__ import annotations

import mmap
import os
import threading

PAGE_SIZE = 4096
# These let every processor see the stores of one in their order. A lock would take as
# long as everything else that a small call does with a page.
STORES_IN_ORDER = ("x86_64", "i686")

# The distance is less than this.
REACH = 64

_BEGUN = 0
_TAKEN = 1
_KEPT = 2
ANSWERS_AT = 24
ROUND = 1 << 16
# `taken` is `floor << FLOOR_AT | distance`.
_FLOOR_AT = REACH.bit_length() - 1


def make_page(path: str) -> mmap.mmap:
    """Creates the file of a page that the host opens, and maps it.

    Raises:
        OSError: there is no room for it, or it exists.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(path, flags, 0o600)
    try:
        # Not `ftruncate`: if the memory is used up, a store into a page that the file
        # does not have yet would kill the process.
        os.posix_fallocate(file, 0, PAGE_SIZE)
        return mmap.mmap(file, PAGE_SIZE)
    finally:
        os.close(file)


class CallPage:
    """The page of one worker.

    Attributes:
        begun: the number of the call that began last.
    """

    def __init__(self, path: str, machine: str | None = None) -> None:
        """Creates the page, in a directory in shared memory, for a kind of machine; by
        default, for this one.

        Raises:
            OSError: there is no room for it, or it exists.
        """
        self._page = make_page(path)
        self._words = memoryview(self._page).cast("Q")
        self._round = 0
        self._end = ANSWERS_AT
        in_order = (machine or os.uname().machine) in STORES_IN_ORDER
        self._fence = None if in_order else threading.Lock()
        self._barrier = threading.Lock()
        self._acquire = self._barrier.acquire
        self._release = self._barrier.release

    @property
    def begun(self) -> int:
        return self._words[_BEGUN]

    def announce(self, number: int) -> None:
        """Notes that a call is about to begin, in the order in which the calls came.

        `may_begin` says whether it may. The load of `taken` there must not overtake
        this store. On x86 the lock that is held around `may_begin` is enough: to take
        it is a full barrier. One lock would not order them on ARM, where both may move
        into it from either side; an acquisition does not overtake the release before
        it, so two locks do.
        """
        if self._fence is None:
            self._words[_BEGUN] = number
        else:
            with self._fence:
                self._words[_BEGUN] = number

    def may_begin(self, number: int) -> bool:
        """Returns whether a call that was announced may begin; False if it was taken
        back. To be called with a lock held that was acquired after `announce`."""
        taken = self._words[_TAKEN]
        if number > taken >> _FLOOR_AT:
            return True
        floor, distance = divmod(taken, REACH)
        return distance > 0 and number == floor - distance

    def begins(self, number: int) -> bool:
        """Announces a call and returns whether it may begin, for a thread that holds no
        lock; one thread calls this.

        On x86 the release of a lock is a full barrier. It may be interrupted between the
        two steps: then the next one finds the lock taken, and releases it.
        """
        words = self._words
        if self._fence is None:
            words[_BEGUN] = number
            self._acquire(False)
            self._release()
        else:
            self.announce(number)
            with self._barrier:
                pass
        # Usually, the host has taken nothing back.
        return number > words[_TAKEN] >> _FLOOR_AT or self.may_begin(number)

    def keep(self, answer: bytes) -> bool:
        """Keeps an answer with its header until it has been sent, with those before it;
        one thread calls this. Returns False if there is no room: all must be sent now,
        and the next one begins a new round.
        """
        begin = self._end
        end = begin + len(answer)
        if end > PAGE_SIZE:
            self._end = ANSWERS_AT
            return False
        if begin == ANSWERS_AT:
            self._round += ROUND
            # Before its first answer overwrites one of the previous round.
            self._store(_KEPT, self._round)
        if self._fence is None:
            self._page[begin:end] = answer
            self._words[_KEPT] = self._round + end - ANSWERS_AT
        else:
            with self._fence:
                self._page[begin:end] = answer
            self._store(_KEPT, self._round + end - ANSWERS_AT)
        self._end = end
        return True

    def _store(self, word: int, value: int) -> None:
        """Stores a word after what was stored before."""
        if self._fence is None:
            self._words[word] = value
        else:
            with self._fence:
                self._words[word] = value


_OVER = 0
_FIRST = 1
_MARKS = PAGE_SIZE // 8 - _FIRST


class BegunMarks:
    """The page of a worker that takes several calls at a time.

    The host writes the first word: when it is not 0, the conversation is over and no
    further call begins. The worker writes the others: it stores the number of a call in
    the call's word before it begins the call, and reads the first word after that. The
    host stores first and reads second, too, so at least one of them sees the other's
    store.

    Calls share a word whose numbers differ by a multiple of the number of words. The word
    has the highest number of those that began: a call has certainly not begun while the
    word has a smaller number than its own.
    """

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
