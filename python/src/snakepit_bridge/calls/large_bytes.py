"""Copies bytes that are so large that their memory is mapped again each time.

From 32 MiB on glibc maps memory for each object and unmaps it when the object is freed.
The kernel finds and clears that memory page by page, which takes several times as long
as copying the bytes. With huge pages there are 512 times fewer pages, but most systems
use them only on request, made before the memory is written to.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable

from snakepit_bridge.own_imports import standard

__all__ = ["copy_bytes"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ctypes
else:
    ctypes = standard("ctypes")

# Source: mallopt(3), the upper limit of M_MMAP_THRESHOLD. Smaller objects are in memory
# that is reused.
LARGE_BYTES = 32 * 1024 * 1024


def copy_bytes(mapping: mmap.mmap, begin: int, end: int) -> bytes:
    """Returns a copy of these bytes.

    Args:
        mapping: can be written to.
        begin: of the first byte.
        end: behind the last one.
    """
    # Slicing handles bytes outside of the mapping, which have no address.
    if end - begin < LARGE_BYTES or not 0 <= begin <= end <= len(mapping):
        return mapping[begin:end]
    if _Copy.large is None:
        _Copy.large = _large_copy() or _plain_copy
    return _Copy.large(mapping, begin, end)


class _Copy:
    """How to copy large bytes, determined on first use: the imports take milliseconds,
    and few workers get such large bytes.
    """

    large: Callable[[mmap.mmap, int, int], bytes] | None = None


def _plain_copy(mapping: mmap.mmap, begin: int, end: int) -> bytes:
    return mapping[begin:end]


def _large_copy() -> Callable[[mmap.mmap, int, int], bytes] | None:
    """Returns a function that copies into huge pages; None if that is impossible."""
    try:
        # Own function objects: other code may change the types of those of `pythonapi`.
        new_bytes = ctypes.PYFUNCTYPE(
            ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t
        )(("PyBytes_FromStringAndSize", ctypes.pythonapi))
        address_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(
            ("PyBytes_AsString", ctypes.pythonapi)
        )
        advise = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
        )(("madvise", ctypes.CDLL(None)))
        huge_pages = mmap.MADV_HUGEPAGE
    except (ImportError, AttributeError, OSError):
        return None

    def copy(mapping: mmap.mmap, begin: int, end: int) -> bytes:
        size = end - begin
        # Its content may be set while nothing else refers to it.
        # Source: Python/C API, PyBytes_FromStringAndSize and PyBytes_AsString.
        made: bytes = new_bytes(None, size)
        address = address_of(made)
        first = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE
        behind = (address + size) // mmap.PAGESIZE * mmap.PAGESIZE
        # If this is refused, the memory has pages of the usual size.
        advise(first, behind - first, huge_pages)
        # While this exists, the mapping cannot be closed.
        source = ctypes.c_char.from_buffer(mapping, begin)
        ctypes.memmove(address, ctypes.addressof(source), size)
        return made

    return copy
