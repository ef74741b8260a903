"""Where a call stands."""

from __future__ import annotations

__all__ = ["CallState"]


class CallState:
    """The states of a call, in order. Only `RUNNING` may be left out, by a call that
    is cancelled while it waits. No `enum`, as `Answers`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<CallState: {self._name}>"

    WAITING: CallState
    RUNNING: CallState
    ENDED: CallState


CallState.WAITING = CallState("waiting")
CallState.RUNNING = CallState("running")
CallState.ENDED = CallState("ended")
