"""The objects that a session holds by reference, in one worker."""

from __future__ import annotations

import secrets
import threading

from snakepit_bridge.calls.context.call import NoHandles
from snakepit_bridge.failures.failure import CallRefused
from snakepit_bridge.frames import FailureCode
from snakepit_bridge.values.reference import reference_image

# It cannot be guessed, and no other session or worker has the same one.
_TOKEN_BYTES = 16


class HandleTable(NoHandles):
    """The objects of one session; its methods may be called in any thread."""

    are_given = True

    def __init__(self, limit: int) -> None:
        """Starts empty. `limit`: how many objects it holds at most."""
        self._held: dict[bytes, object] = {}
        # By the id of an object: how many tokens it has.
        self._tokens: dict[int, int] = {}
        self._limit = limit
        self._lock = threading.Lock()

    def require(self) -> None:
        """Raises if no object can be held.

        Raises:
            CallRefused: it is full.
        """
        if len(self._held) >= self._limit:
            raise CallRefused(
                FailureCode.HANDLE_REFUSED,
                f"the session holds {len(self._held)} objects (handles.limit); "
                "release some, or raise the limit",
            )

    def reference_to(self, value: object) -> bytes:
        """Holds an object; returns the encoding that refers to it.

        Raises:
            CallRefused: it is full.
        """
        token = secrets.token_bytes(_TOKEN_BYTES)
        with self._lock:
            self.require()
            self._held[token] = value
            self._tokens[id(value)] = self._tokens.get(id(value), 0) + 1
        return reference_image(token, value)

    def resolve(self, token: bytes) -> object:
        """Returns an object.

        Raises:
            CallRefused: the session does not hold it.
        """
        try:
            return self._held[token]
        except KeyError:
            raise CallRefused(
                FailureCode.HANDLE_INVALID,
                "this session holds no such object in this worker: it was released, "
                "or the handle is from another session",
            ) from None

    def holds(self, value: object) -> bool:
        """Returns whether this very object is held."""
        return id(value) in self._tokens

    def release(self, token: bytes) -> None:
        """Drops an object, if it is held."""
        with self._lock:
            if token not in self._held:
                return
            value = self._held.pop(token)
            self._tokens[id(value)] -= 1
            if not self._tokens[id(value)]:
                del self._tokens[id(value)]
