"""Python tools that a TypeScript program calls through Snakepit.

All you write is a module with functions under `@tool`:

    from snakepit_bridge import tool

    @tool
    def add(a: int, b: int) -> int:
        return a + b

Nothing is imported until it is used: a worker must be able to import this
package before it has tied its life to its host's.
"""

from snakepit_bridge._version import __version__

# Type checkers take this name for `typing.TYPE_CHECKING`, which costs an import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.calls.cancel.cancel_reason import CancelReason
    from snakepit_bridge.calls.cancel.cancellation import CallCancelled
    from snakepit_bridge.calls.context.batch_call import current_batch
    from snakepit_bridge.calls.context.call import Call, current_call, progress
    from snakepit_bridge.calls.context.host_calls import HostCallFailed
    from snakepit_bridge.calls.context.input_stream import InputFailed, InputStream
    from snakepit_bridge.tools.annotations.handles import Handle
    from snakepit_bridge.tools.batch import Batch
    from snakepit_bridge.tools.declaration import (
        on_shutdown,
        on_startup,
        tool,
        toolset,
    )
    from snakepit_bridge.tools.stream_result import Result
    from snakepit_bridge.values.nd_array import NdArray
    from snakepit_bridge.values.own_types import decoder, encoder
    from snakepit_bridge.values.value_not_transferable import ValueNotTransferable

__all__ = [
    "Batch",
    "Call",
    "CallCancelled",
    "CancelReason",
    "Handle",
    "HostCallFailed",
    "InputFailed",
    "InputStream",
    "NdArray",
    "Result",
    "ValueNotTransferable",
    "__version__",
    "current_batch",
    "current_call",
    "decoder",
    "encoder",
    "on_shutdown",
    "on_startup",
    "progress",
    "tool",
    "toolset",
]

_HOMES = {
    "Batch": "tools.batch",
    "Call": "calls.context.call",
    "CallCancelled": "calls.cancel.cancellation",
    "CancelReason": "calls.cancel.cancel_reason",
    "Handle": "tools.annotations.handles",
    "HostCallFailed": "calls.context.host_calls",
    "InputFailed": "calls.context.input_stream",
    "InputStream": "calls.context.input_stream",
    "NdArray": "values.nd_array",
    "ValueNotTransferable": "values.value_not_transferable",
    "Result": "tools.stream_result",
    "current_batch": "calls.context.batch_call",
    "current_call": "calls.context.call",
    "decoder": "values.own_types",
    "encoder": "values.own_types",
    "on_shutdown": "tools.declaration",
    "on_startup": "tools.declaration",
    "progress": "calls.context.call",
    "tool": "tools.declaration",
    "toolset": "tools.declaration",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value: object = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
