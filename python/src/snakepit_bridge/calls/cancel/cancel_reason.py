"""Why calls are cancelled."""

from __future__ import annotations

import enum


class CancelReason(enum.Enum):
    """Why a call was cancelled."""

    CALLER = "the caller gave up"
    DEADLINE = "its deadline passed"
    SHUTDOWN = "the worker is leaving"
