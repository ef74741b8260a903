"""The dictionaries that the tools of one session keep for each other."""

from __future__ import annotations

import logging
from typing import Any

__all__ = ["MAX_SESSIONS", "Sessions"]

MAX_SESSIONS = 1000

_logger = logging.getLogger(__name__)


class Sessions:
    """Dictionaries by session id; only the bridge's thread uses it.

    A session ends when the host says so. Past the maximum the one that was not
    used for longest goes: a host that forgets to end them must not fill the
    worker's memory.
    """

    def __init__(self, most: int = MAX_SESSIONS) -> None:
        self._most = most
        self._dictionaries: dict[str, dict[str, Any]] = {}

    def dictionary(self, session_id: str) -> dict[str, Any] | None:
        """Returns the session's dictionary, a new one where there is none yet."""
        if not session_id:
            return None
        # Taken out and put in again: the order is that of the last use.
        found = self._dictionaries.pop(session_id, None)
        self._dictionaries[session_id] = {} if found is None else found
        if len(self._dictionaries) > self._most:
            oldest = next(iter(self._dictionaries))
            del self._dictionaries[oldest]
            _logger.warning(
                "dropped the session %r: there are more than %d", oldest, self._most
            )
        return self._dictionaries[session_id]

    def end(self, session_id: str) -> None:
        """Drops a session's dictionary."""
        self._dictionaries.pop(session_id, None)
