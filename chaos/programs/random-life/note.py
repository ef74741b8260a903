"""What tools write down of themselves, where it outlives their worker."""

from __future__ import annotations

import os

__all__ = ["note"]


def note(kind: str, tag: str, value: int = 0) -> None:
    """Adds a line to the journal: `B` where a call began, `Y` with what it yielded."""
    # One short write at the end of the file: it is there, whole, if the worker dies next.
    path = os.environ["RANDOM_LIFE_JOURNAL"]
    journal = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    try:
        os.write(journal, f"{kind} {tag} {os.getpid()} {value}\n".encode())
    finally:
        os.close(journal)
