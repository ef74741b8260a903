"""JSON by the C code of Python's `json` alone.

`json` itself compiles regular expressions and imports `re` and `enum`: a tenth of a
worker's start, to read one line and write one. It is used only for unusual input.
"""

from __future__ import annotations

from snakepit_bridge.own_imports import standard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["read_json", "write_json"]

if TYPE_CHECKING:
    import json
else:
    json = standard("json")


class _Options:
    """The default of `json.loads`."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = parse_constant = float
    parse_int = int


def _functions() -> tuple[Any, Callable[[str], str] | None]:
    # These names are not public: if one is missing, `json` does the same more slowly.
    try:
        from _json import encode_basestring, make_scanner

        return make_scanner(_Options), encode_basestring  # type: ignore[arg-type]
    except (ImportError, TypeError, AttributeError):
        return None, None


_scan, _quoted = _functions()


def read_json(text: str) -> Any:
    """Returns what `json.loads` does.

    Raises:
        ValueError: it is not JSON.
    """
    try:
        value, end = _scan(text, 0)
        if not text[end:].strip(" \t\n\r"):
            return value
    except (StopIteration, SystemError, TypeError, ValueError, RecursionError):
        pass
    # There is space before it, or it is not JSON; then `json` reports the error.
    return json.loads(text)


def write_json(value: object) -> str:
    """Returns what `json.dumps` does with `ensure_ascii=False`.

    Raises:
        TypeError: there is no JSON of it.
    """
    written = _written(value)
    if written is not None:
        return written
    return json.dumps(value, ensure_ascii=False)


def _written(value: object) -> str | None:
    if type(value) is str:
        return None if _quoted is None else _quoted(value)
    if type(value) is int:
        return str(value)
    if type(value) is not dict:
        return None
    entries = []
    for key, item in value.items():
        name = _written(key) if type(key) is str else None
        written = _written(item)
        if name is None or written is None:
            return None
        entries.append(f"{name}: {written}")
    return "{" + ", ".join(entries) + "}"
