"""A call that was cancelled while its tool asks the host, and is over at the same time."""

from __future__ import annotations

import asyncio

import pytest

from snakepit_bridge import CallCancelled, CancelReason, HostCallFailed
from snakepit_bridge.calls.cancel.cancellation import Cancellation
from snakepit_bridge.calls.context.call import Call
from snakepit_bridge.calls.context.host_calls import CALL_OVER, Reply


class Host:
    """Ends the call before it answers: what the bridge does when a caller has left."""

    def __init__(self, cancellation: Cancellation, reason: CancelReason | None) -> None:
        self._cancellation = cancellation
        self._reason = reason

    def send_host_call(self, _call_id: int, reply: Reply, _argument: bytes) -> int:
        if self._reason is not None:
            self._cancellation.request(self._reason)
        reply.failure(CALL_OVER, "its call is over")
        return 1

    def drop_host_call(self, host_call_id: int) -> None:
        raise AssertionError(f"{host_call_id} was answered")


def ask(is_async: bool, reason: CancelReason | None) -> None:
    cancellation = Cancellation()
    call = Call(1, "asks", Host(cancellation, reason), cancellation, is_async)
    if is_async:
        asyncio.run(call.host_async("name"))
    else:
        call.host("name")


KINDS = pytest.mark.parametrize("is_async", [False, True])


@KINDS
def test_one_that_was_cancelled_raises_that_whatever_is_noticed_first(
    is_async: bool,
) -> None:
    with pytest.raises(CallCancelled) as raised:
        ask(is_async, CancelReason.DEADLINE)
    assert raised.value.reason is CancelReason.DEADLINE


@KINDS
def test_one_that_ended_otherwise_has_no_answer(is_async: bool) -> None:
    with pytest.raises(HostCallFailed) as raised:
        ask(is_async, None)
    assert raised.value.code == CALL_OVER
