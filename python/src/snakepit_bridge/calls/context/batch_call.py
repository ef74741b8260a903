"""The calls of a batch, as the tool sees them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NoReturn

from snakepit_bridge.calls.cancel.cancellation import Cancellation
from snakepit_bridge.calls.cancel.trampoline import drive, invoke
from snakepit_bridge.calls.context.call import CURRENT, Call, PresetCall, current_call
from snakepit_bridge.calls.context.input_stream import InputStream
from snakepit_bridge.tools.batch import batch_answers

_NO_CALL = 0


def current_batch() -> tuple[Call, ...]:
    """Returns the calls that this code runs for, in the order of the list.

    Each has its own deadline, session and trace context, and shows whether its caller
    has cancelled it. In a tool without `batch`, the list has exactly one call.

    Raises:
        RuntimeError: no call runs here.
    """
    call = current_call()
    return call.calls if isinstance(call, BatchCall) else (call,)


class _NoHost:
    """A batch has no single caller."""

    def send_host_call(self, *_: object) -> NoReturn:
        raise _refusal()

    def drop_host_call(self, host_call_id: int) -> None:
        """Nothing was sent."""


class BatchCall(Call):
    """What `current_call()` returns in the function of a batch.

    Its deadline is the last one of its calls; it is cancelled when every caller has
    left. It belongs to no session, and asks the host for nothing.

    Attributes:
        calls: those of the batch, in the order of the list.
    """

    def __init__(
        self, calls: Sequence[Call], cancellation: Cancellation, is_async: bool
    ) -> None:
        deadlines = [call.deadline for call in calls if call.deadline is not None]
        super().__init__(
            _NO_CALL,
            calls[0].tool,
            _NoHost(),
            cancellation,
            is_async,
        )
        if len(deadlines) == len(calls):
            self.deadline = max(deadlines)
        self.calls = tuple(calls)

    def progress(self, fraction: float | None, message: str = "") -> None:
        """Reports the progress of the batch to the caller of each call."""
        for call in self.calls:
            call.progress(fraction, message)

    @property
    def input(self) -> InputStream:
        """Refused: a batch reads no input stream."""
        raise _refusal()

    def host(self, function: str, argument: object = None) -> Any:
        """Refused: only one of the calls can ask."""
        raise _refusal()

    async def host_async(self, function: str, argument: object = None) -> Any:
        """Refused: only one of the calls can ask."""
        raise _refusal()


def _refusal() -> RuntimeError:
    return RuntimeError(
        "a batch runs for several callers; use one of current_batch(), as in "
        "current_batch()[0].host(...)"
    )


def batch_of_one(together: Callable[..., Any], is_async: bool) -> Callable[..., Any]:
    """Returns a function that runs one call, with its one argument."""

    def returned(positional: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        current = CURRENT.get(None)
        if current is not None:
            # Everything that follows in this context belongs to the call.
            batch = BatchCall([current.call], current.cancellation, is_async)
            CURRENT.set(PresetCall(batch))
        return invoke(together, [*positional, *keywords.values()])

    def run(*positional: Any, **keywords: Any) -> Any:
        answers = returned(positional, keywords)
        # Of a decorator's wrapper, only a call shows what it makes.
        return _only_later(answers) if hasattr(answers, "__await__") else _only(answers)

    async def run_async(*positional: Any, **keywords: Any) -> Any:
        return await _only_later(returned(positional, keywords))

    return run_async if is_async else run


async def _only_later(awaitable: Awaitable[Any]) -> object:
    return _only(await drive(awaitable))


def _only(returned: object) -> object:
    (answer,) = batch_answers(returned, 1)
    if isinstance(answer, BaseException):
        raise answer
    return answer
