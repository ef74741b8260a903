"""The dictionaries that the tools of one session keep for each other."""

from __future__ import annotations

from typing import Any

__all__ = ["Sessions"]


class Sessions:
    """Dictionaries by session id; only the thread that reads uses it.

    A session ends when the host says so, and never before: the host bounds how
    many there are (its option `sessions.limit`) and how long they stay unused
    (`sessions.ttlMs`). Dropping one here would hand its next call an empty
    dictionary in silence.
    """

    def __init__(self) -> None:
        self._dictionaries: dict[str, dict[str, Any]] = {}

    def dictionary(self, session_id: str) -> dict[str, Any] | None:
        """Returns the session's dictionary, a new one where there is none yet."""
        if not session_id:
            return None
        return self._dictionaries.setdefault(session_id, {})

    def end(self, session_id: str) -> None:
        """Drops a session's dictionary."""
        self._dictionaries.pop(session_id, None)
