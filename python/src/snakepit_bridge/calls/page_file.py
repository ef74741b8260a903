"""A page of shared memory that the worker creates and the host opens."""

from __future__ import annotations

import mmap
import os

__all__ = ["PAGE_SIZE", "STORES_IN_ORDER", "make_page"]

PAGE_SIZE = 4096
# These let every processor see the stores of one in their order. A lock would take as
# long as everything else that a small call does with a page.
STORES_IN_ORDER = ("x86_64", "i686")


def make_page(path: str) -> mmap.mmap:
    """Creates the file and maps it.

    Raises:
        OSError: there is no room for it, or it exists.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(path, flags, 0o600)
    try:
        # Not `ftruncate`: if the memory is used up, a store into a page that the file
        # does not have yet would kill the process.
        os.posix_fallocate(file, 0, PAGE_SIZE)
        return mmap.mmap(file, PAGE_SIZE)
    finally:
        os.close(file)
