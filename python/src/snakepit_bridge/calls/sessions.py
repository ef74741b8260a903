"""The state that the tools of one session share in this worker."""

from __future__ import annotations

from collections.abc import Callable

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.failures.failure import CallRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["NO_HANDLES", "NoHandles", "Sessions"]


class NoHandles:
    """The objects of a session in a call that has none.

    Attributes:
        are_given: whether an object can be held.
    """

    are_given = False

    def require(self) -> None:
        """Raises if no object can be held.

        Raises:
            CallRefused: always.
        """
        raise _no_handles()

    def image(self, value: object) -> bytes:
        """Holds an object; returns the image that refers to it.

        Raises:
            CallRefused: it cannot be held.
        """
        raise _no_handles()

    def resolve(self, token: bytes) -> object:
        """Returns an object that is held.

        Raises:
            CallRefused: there is none of this token.
        """
        raise CallRefused(
            pb.FAILURE_KIND_HANDLE_INVALID,
            "a handle came with a call that belongs to no session with handles; "
            "make the call in the session that the handle is from",
        )

    def holds(self, value: object) -> bool:
        """Returns whether this very object is held."""
        return False

    def release(self, token: bytes) -> None:
        """Drops an object, if it is held."""


def _no_handles() -> CallRefused:
    return CallRefused(
        pb.FAILURE_KIND_HANDLE_REFUSED,
        "a handle needs a session that allows it: give the adapter the option "
        'handles, and call the tool in pool.session({ affinity: "strict" })',
    )


NO_HANDLES = NoHandles()


class Sessions:
    """The sessions that have had a call here.

    A session ends only when the host says so: the host limits their number and how long
    they may be unused. If a session were dropped here, the next call would find an
    empty dictionary.
    """

    def __init__(self) -> None:
        self._shared: dict[str, dict[str, Any]] = {}
        self._held: dict[str, NoHandles] = {}
        self._hold: Callable[[], NoHandles] | None = None

    def allow_handles(self, hold: Callable[[], NoHandles]) -> None:
        """Lets sessions hold objects; `hold` returns what holds those of a new one."""
        self._hold = hold

    def shared(self, session_id: str | None) -> dict[str, Any] | None:
        """Returns the dictionary of a session; None if there is no session."""
        return self._shared.setdefault(session_id, {}) if session_id else None

    def handles(self, session_id: str | None) -> NoHandles:
        """Returns the objects that a session holds by reference."""
        if self._hold is None or not session_id:
            return NO_HANDLES
        if session_id not in self._held:
            self._held[session_id] = self._hold()
        return self._held[session_id]

    def end(self, session_id: str) -> list[object]:
        """Ends a session; returns its objects, because freeing them may run code of the
        tools.
        """
        had = (self._shared.pop(session_id, None), self._held.pop(session_id, None))
        return [each for each in had if each]
