"""Tools that crash and hang."""

import ctypes
import os
import sys

from snakepit_bridge import tool


@tool
def crash() -> None:
    print("the last words", file=sys.stderr)
    os.abort()


@tool
def deadlock() -> None:
    """Waits for itself in C, with the interpreter's lock."""
    library = ctypes.PyDLL(None)
    mutex = ctypes.create_string_buffer(64)
    library.pthread_mutex_lock(mutex)
    library.pthread_mutex_lock(mutex)
