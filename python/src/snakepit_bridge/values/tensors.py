"""Tensors of torch, jax, CuPy and others, which share their memory by DLPack."""

from __future__ import annotations

from typing import Any

from snakepit_bridge.values.refusals import LIST_OF_ARROW

# DLPack's numbers of devices whose memory the processor reads: its own, and what CUDA and
# ROCm have pinned there.
_READABLE = (1, 3, 11)
_PROBLEMS = (BufferError, RuntimeError, TypeError, ValueError)


def array_of_tensor(tensor: Any) -> Any:
    """Returns a tensor as an array of numpy's over the same memory.

    Raises:
        ValueError: its memory is elsewhere, numpy has no such elements, or there is no
            numpy.
    """
    kind = type(tensor)
    name = f"{kind.__module__}.{kind.__qualname__}"
    try:
        device, _ = tensor.__dlpack_device__()
    except _PROBLEMS as error:
        raise _unreadable(tensor, name, error) from None
    if int(device) not in _READABLE:
        raise ValueError(
            f"is a {name} in the memory of another device; {_remedy(tensor)}"
        )
    try:
        import numpy
    except ImportError:
        raise ValueError(
            f"is a {name}, which is sent as an array of numpy's; pip install numpy"
        ) from None
    try:
        return numpy.from_dlpack(tensor)
    except _PROBLEMS as error:
        raise _unreadable(tensor, name, error) from None


def _unreadable(tensor: Any, name: str, error: Exception) -> ValueError:
    problem = str(error).rstrip(".")
    return ValueError(
        f"is a {name} that numpy cannot read: {problem}; {_conversion(tensor)}"
    )


def _conversion(tensor: Any) -> str:
    if hasattr(tensor, "to_pylist"):
        # An array of pyarrow's with nulls, texts, booleans or others.
        return LIST_OF_ARROW
    if hasattr(tensor, "detach"):
        return "convert it first, as with .detach() or .float()"
    if hasattr(tensor, "astype"):
        return "convert it first with .astype()"
    return "convert it to an array of numpy's first"


def _remedy(tensor: Any) -> str:
    if hasattr(tensor, "cpu"):
        return "send .cpu() of it"
    if hasattr(tensor, "get"):
        return "send .get() of it"
    return "copy it to the processor first, as with jax.device_get()"
