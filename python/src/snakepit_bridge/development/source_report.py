"""Reports to the host which source files this worker has loaded."""

from __future__ import annotations

import os
import sys
import sysconfig
import time

from snakepit_bridge.bridge.transport import Outbox
from snakepit_bridge.frames import Sources
from snakepit_bridge.tools.loading import BEGUN_S

_INSTALLED_NAMES = ("site-packages", "dist-packages")
_BRIDGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _installed() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    directories = {os.path.realpath(paths[name]) for name in names if name in paths}
    return tuple(f"{directory}{os.sep}" for directory in directories | {_BRIDGE})


_INSTALLED = _installed()


def is_own_source(path: str) -> bool:
    """Returns whether a file is Python source of the user's own: neither Python's, nor
    installed, nor the bridge's."""
    if not path.endswith(".py"):
        return False
    real = os.path.realpath(path)
    parts = real.split(os.sep)
    return not real.startswith(_INSTALLED) and not any(
        name in parts for name in _INSTALLED_NAMES
    )


class SourceReport:
    """Sends each source file of the user's own once, when a module was loaded from it."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._modules = 0
        self._reported: set[str] = set()
        # In a forked worker this is a moment before the preloaded parent's imports.
        self._since_s = BEGUN_S

    def look(self) -> None:
        """Sends what was loaded since the last look; in any thread."""
        modules = sys.modules
        if len(modules) == self._modules:
            return
        now_s = time.time()
        self._modules = len(modules)
        loaded: set[str] = set()
        for module in list(modules.values()):
            # Not `module.__file__`: a module that loads itself late would do so now.
            path = getattr(module, "__dict__", {}).get("__file__")
            if isinstance(path, str) and path not in self._reported:
                self._reported.add(path)
                if is_own_source(path):
                    loaded |= {os.path.abspath(path), os.path.realpath(path)}
        if loaded:
            since_us = int(self._since_s * 1_000_000)
            self._outbox.put(Sources(sorted(loaded), since_us))
        self._since_s = now_s
