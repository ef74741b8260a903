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


def when_imported(act: Callable[[str], None], *names: str) -> None:
    """Calls `act` once for each module, with its name: now if the module is imported
    already, else before any code sees it.

    Args:
        act: called in the thread that imports the module, which no other thread gets
            before that. If it raises, the import does.
        names: of modules. What the tools have under a name of Python's is left alone. If
            a module is in a package, only `sys.modules` has it then, the package does
            not.
    """
    later = set()
    for name in names:
        # One that another thread is importing right now is waited for.
        if sys.modules.get(name) is not None:
            __import__(name)
            act(name)
        else:
            later.add(name)
    if later:
        sys.meta_path.insert(0, _Finder(later, act))


class _Finder:
    """Finds what the other finders find, and goes when all of it is imported."""

    def __init__(self, names: set[str], act: Callable[[str], None]) -> None:
        self._names = names
        self._act = act

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if name not in self._names:
            return None
        # Those before it were asked already; one of them may look for the same module.
        finders = list(sys.meta_path)
        behind = finders[finders.index(self) + 1 :] if self in finders else []
        for finder in behind:
            # One of an old kind has another method; Python passes over it, too.
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find and find(name, path, target)
            if spec is not None:
                is_the_one = is_standard(spec) or not _is_pythons(name)
                if spec.loader is not None and is_the_one:
                    spec.loader = _Loader(spec.loader, self._imported)  # type: ignore[assignment]
                return spec
        return None

    def _imported(self, name: str) -> None:
        self._act(name)
        # Not before: an import that fails may be tried again.
        self._names.discard(name)
        if not self._names and self in sys.meta_path:
            sys.meta_path.remove(self)


def _is_pythons(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names


class _Loader:
    """Loads as another loader does, and then calls back."""

    def __init__(self, loader: Loader, then: Callable[[str], None]) -> None:
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
        self._then(module.__name__)
