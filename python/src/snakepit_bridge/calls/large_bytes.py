"""Bytes so large that their memory is new each time.

From 32 MiB on glibc maps memory for each object and unmaps it when that is gone.
The kernel finds and clears it page by page, which takes several times as long as
to copy the bytes. Where it may use huge pages, there are 512 times fewer of them;
but on most systems it must be asked, and that is before the memory is written to.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable

__all__ = ["copy_bytes"]

# Source: mallopt(3), the upper limit of M_MMAP_THRESHOLD. What is smaller comes
# from memory that is used again, and should stay as its owner has it.
LARGE_BYTES = 32 * 1024 * 1024


def copy_bytes(mapping: mmap.mmap, begin: int, end: int) -> bytes:
    """Returns what lies there as bytes of their own.

    Args:
        mapping: can be written to.
        begin: of the first byte.
        end: behind the last one.
    """
    # What does not lie in the mapping has no address: slicing sees to that.
    if end - begin < LARGE_BYTES or not 0 <= begin <= end <= len(mapping):
        return mapping[begin:end]
    if _Copy.large is None:
        _Copy.large = _large_copy() or _plain_copy
    return _Copy.large(mapping, begin, end)


class _Copy:
    """The way that this interpreter has, once it is known: what it needs takes
    milliseconds to import, and few workers get bytes that large."""

    large: Callable[[mmap.mmap, int, int], bytes] | None = None


def _plain_copy(mapping: mmap.mmap, begin: int, end: int) -> bytes:
    return mapping[begin:end]


def _large_copy() -> Callable[[mmap.mmap, int, int], bytes] | None:
    """Returns what copies into huge pages; None where there is no way to."""
    try:
        import ctypes

        # Function objects of our own: to those of `pythonapi` anyone may give
        # other types.
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
        # Its content may be set as long as nobody else has it.
        # Source: Python/C API, PyBytes_FromStringAndSize and PyBytes_AsString.
        made: bytes = new_bytes(None, size)
        address = address_of(made)
        first = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE
        behind = (address + size) // mmap.PAGESIZE * mmap.PAGESIZE
        # Where it is refused the memory is as it always was.
        advise(first, behind - first, huge_pages)
        # While it refers to the mapping that cannot be closed.
        source = ctypes.c_char.from_buffer(mapping, begin)
        ctypes.memmove(address, ctypes.addressof(source), size)
        return made

    return copy
