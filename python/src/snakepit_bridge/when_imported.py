"""Does something with a module of Python's in the moment in which it is imported for the
first time."""

from __future__ import annotations

import sys

from snakepit_bridge.own_imports import is_standard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

__all__ = ["when_imported"]


def when_imported(name: str, act: Callable[[], None]) -> None:
    """Calls `act` once: now if the module is imported already, else before any code sees it.

    Args:
        name: of a module. One of the tools that has the same name is left alone. If it is
            in a package, only `sys.modules` has it then, the package does not.
        act: called in the thread that imports the module, which no other thread gets
            before that. If it raises, the import does.
    """
    module = sys.modules.get(name)
    # One that another thread is importing right now is waited for.
    if module is not None:
        __import__(name)
        act()
    else:
        sys.meta_path.insert(0, _Finder(name, act))


class _Finder:
    """Finds what the other finders find, and goes when that is imported."""

    def __init__(self, name: str, act: Callable[[], None]) -> None:
        self._name = name
        self._act = act

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if name != self._name:
            return None
        for finder in sys.meta_path:
            # One of an old kind has another method; Python passes over it, too.
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find and find(name, path, target)
            if spec is not None:
                if spec.loader is not None and is_standard(spec):
                    spec.loader = _Loader(spec.loader, self._imported)  # type: ignore[assignment]
                return spec
        return None

    def _imported(self) -> None:
        self._act()
        # Not before: an import that fails may be tried again.
        if self in sys.meta_path:
            sys.meta_path.remove(self)


class _Loader:
    """Loads as another loader does, and then calls back."""

    def __init__(self, loader: Loader, then: Callable[[], None]) -> None:
        self._loader = loader
        self._then = then

    def __getattr__(self, name: str) -> Any:
        # For who finds the module and does not import it, to read its source for instance.
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """See `importlib.abc.Loader`."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """See `importlib.abc.Loader`."""
        # From here on the module is as if nothing had been between.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._then()
