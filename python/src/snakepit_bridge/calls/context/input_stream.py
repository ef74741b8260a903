"""The items that a caller sends while its call runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from snakepit_bridge.calls.cancel.cancellation import Cancellation, Wakeup
from snakepit_bridge.tools.annotations.check import AnyCheck, Check, Mismatch
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.value_not_transferable import path_text

# How many items may be in transit; when half of them are read, the same number is
# granted again.
INPUT_WINDOW = 16

_ANY = AnyCheck()


def _nothing() -> None:
    """Does nothing."""


class InputFailed(Exception):
    """The caller's stream ended with an error."""


class InputInvalid(InputFailed):
    """An item of the caller's stream does not fit the tool.

    Attributes:
        path: where, such as `$input[3].label`.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path


class InputStream:
    """The input stream of a call: read it with `for` or `async for`, once.

    A slow reader slows the caller down. Reading raises `InputFailed` if the caller's
    stream failed. The stream is empty if the caller sends none.
    """

    def __init__(
        self,
        cancellation: Cancellation,
        check: Check | None = None,
        grant: Callable[[int], None] | None = None,
    ) -> None:
        """Called by the bridge. Without `grant` the stream is empty."""
        self._cancellation = cancellation
        self._check = check or _ANY
        self._grant = grant
        self._items: deque[bytes] = deque()
        self._ended = grant is None
        self._error = ""
        self._read = 0
        self._wakeup = Wakeup()
        self._may_block: Callable[[], None] = _nothing
        cancellation.watch(self._wakeup)

    def __iter__(self) -> InputStream:
        return self

    def __next__(self) -> Any:
        self._may_block()
        self._wakeup.wait(self._cancellation.or_requested(self._ready))
        self._cancellation.raise_if_requested()
        if not self._items:
            self._raise_error()
            raise StopIteration
        return self._take()

    def __aiter__(self) -> InputStream:
        return self

    async def __anext__(self) -> Any:
        await self._wakeup.wait_async(self._ready)
        if not self._items:
            self._raise_error()
            raise StopAsyncIteration
        return self._take()

    def put(self, encoding: bytes) -> None:
        """Adds an item; in the thread that reads."""
        self._items.append(encoding)
        self._wakeup.notify()

    def end(self, error: str) -> None:
        """Ends the stream, with an error or without; in the thread that reads."""
        self._error = error
        self._ended = True
        self._wakeup.notify()

    def _ready(self) -> bool:
        return bool(self._items) or self._ended

    def _take(self) -> Any:
        encoding = self._items.popleft()
        index = self._read
        self._read += 1
        if self._grant is not None and self._read % (INPUT_WINDOW // 2) == 0:
            self._grant(INPUT_WINDOW // 2)
        root = f"$input[{index}]"
        try:
            return self._check.check(decode(encoding, root), None)
        except Mismatch as mismatch:
            path = path_text(mismatch.path, root)
            raise InputInvalid(path, str(mismatch)) from None

    def _raise_error(self) -> None:
        if self._error:
            raise InputFailed(f"the caller's input stream failed: {self._error}")
