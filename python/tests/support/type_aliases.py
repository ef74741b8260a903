"""Type aliases that are within themselves, as `type Json = ...` makes them."""

from __future__ import annotations

import re
import sys
import types
from typing import Any, TypeVar, Union

_T = TypeVar("_T")


class TypeAliasType:
    """What stands in for an alias of Python 3.12 in an older one: its value is read late."""

    def __init__(self, name: str, value: str, scope: dict[str, Any]) -> None:
        self.__name__ = name
        self._value = value
        self._scope = scope

    @property
    def __value__(self) -> Any:
        return eval(self._value, {"T": _T, **self._scope})

    def __call__(self) -> None:
        """Makes it fit for a `Union` of Python 3.10."""

    def __getitem__(self, parameter: Any) -> Any:
        return types.GenericAlias(self, (parameter,))  # type: ignore[arg-type]


def type_aliases(**values: str) -> dict[str, Any]:
    """Returns aliases that see each other, by name; one that names `T` is generic."""
    scope: dict[str, Any] = {"Union": Union}
    for name, value in values.items():
        if sys.version_info >= (3, 12):
            generic = "[T]" if re.search(r"\bT\b", value) else ""
            exec(f"type {name}{generic} = {value}", scope)  # noqa: S102 - a syntax error before
        else:
            scope[name] = TypeAliasType(name, value, scope)
    return scope
