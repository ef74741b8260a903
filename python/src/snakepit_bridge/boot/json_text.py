"""JSON by the C code of Python's `json` alone.

`json` itself compiles regular expressions, and brings `re` and `enum`: a tenth of a
worker's start, for one line read and one written. It does what is not plain here.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["read_json", "write_json"]


class _Options:
    """What `json.loads` uses by default."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = parse_constant = float
    parse_int = int


def _functions() -> tuple[Any, Callable[[str], str] | None]:
    # These names are not public: where one is gone, `json` does the same in more time.
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
    # Space before it, or it is not JSON and `json` says what is wrong.
    import json

    return json.loads(text)


def write_json(value: object) -> str:
    """Returns what `json.dumps` does with `ensure_ascii=False`.

    Raises:
        TypeError: there is no JSON of it.
    """
    written = _written(value)
    if written is not None:
        return written
    import json

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
