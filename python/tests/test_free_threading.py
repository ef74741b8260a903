"""What a build of Python without its lock changes.

No such build is needed: what is asked is whether the lock is enabled now.
"""

from __future__ import annotations

import sys
import threading

import pytest

from snakepit_bridge.calls.cancel.cancel_reason import CancelReason
from snakepit_bridge.calls.cancel.cancellation import CallCancelled, Cancellation
from snakepit_bridge.calls.cancel.thread_interrupt import (
    InterruptibleThread,
    gil_is_enabled,
)
from snakepit_bridge.calls.cancel.trampoline import invoke


def how_it_ends(*, gil: bool, monkeypatch: pytest.MonkeyPatch) -> str:
    """Interrupts a thread in user code, and then has it ask."""
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: gil, raising=False)
    cancellation = Cancellation()
    made: list[InterruptibleThread] = []
    # Neither is an event: code of `threading` is not interrupted, with or without the
    # GIL.
    begun = threading.Lock()
    interrupted: list[bool] = []
    ends: list[str] = []

    def user_code() -> None:
        begun.release()
        while not interrupted:
            pass
        # What was raised is noticed between two bytecodes.
        for _ in range(1000):
            pass
        ends.append("was not interrupted")
        cancellation.raise_if_requested()

    def run() -> None:
        made.append(InterruptibleThread(cancellation))
        try:
            invoke(user_code)
        except CallCancelled:
            made[0].disarm()
            ends.append("cancelled")

    begun.acquire()
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert begun.acquire(timeout=30)
    cancellation.request(CancelReason.CALLER)
    made[0].interrupt()
    interrupted.append(True)
    thread.join(30)
    return ", ".join(ends)


def test_without_the_gil_a_thread_is_not_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert how_it_ends(gil=True, monkeypatch=monkeypatch) == "cancelled"
    ends = how_it_ends(gil=False, monkeypatch=monkeypatch)
    assert ends == "was not interrupted, cancelled"


def test_a_python_without_free_threading_has_the_gil(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(sys, "_is_gil_enabled", raising=False)
    assert gil_is_enabled()
