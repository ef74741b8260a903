"""The error about a value that cannot cross, and the path that it names."""

from __future__ import annotations

from snakepit_bridge.own_imports import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

# Python refuses to write the digits of longer integers; a program can set its limit to
# 640 digits, which are more than this.
_MOST_BITS = 2000

# The parts from the root to a value, innermost first: building it costs nothing until
# an error needs it.
Path: TypeAlias = "tuple[Path, str | int] | None"


class ValueNotTransferable(TypeError):
    """A value, or a part of it, cannot cross between the languages.

    Attributes:
        path: where it is, as `$.images[3].label`.
        problem: what is wrong there and what to do about it.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path} {problem}")
        self.path = path
        self.problem = problem


class Refused(Exception):
    """A `ValueNotTransferable` on its way out, before its path is written as text."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(problem)
        self.path = path
        self.problem = problem

    def to_error(self, root: str) -> ValueNotTransferable:
        """Returns the error for callers."""
        return ValueNotTransferable(path_text(self.path, root), self.problem)


def path_text(path: Path, root: str = "$") -> str:
    """Writes a path in the notation of a program."""
    parts: list[str] = []
    while path is not None:
        path, part = path
        parts.append(f"[{part}]" if isinstance(part, int) else part)
    return root + "".join(reversed(parts))


def key_part(key: str) -> str:
    """Returns the part of a text key in its map."""
    is_identifier = key.isascii() and key.replace("$", "_").isidentifier()
    return f".{key}" if is_identifier else f"[{_json(key)}]"


def entry_part(index: int, key: object) -> str:
    """Returns the part of the value of any key, at `index` in its map."""
    if isinstance(key, str):
        return f"[{_json(key)}]"
    if key is None or isinstance(key, (bool, float)) or has_digits(key):
        return f"[{key}]"
    return f"<value {index}>"


def has_digits(value: object) -> bool:
    """Returns whether a value is an integer whose digits Python writes."""
    return isinstance(value, int) and value.bit_length() <= _MOST_BITS


def shown(value: object) -> str:
    """Returns a value for a message; of an integer that Python does not write, its size."""
    if isinstance(value, int) and not has_digits(value):
        return f"an int of {value.bit_length()} bits"
    return repr(value)


def _json(text: str) -> str:
    # Few paths need it, and each import makes every start slower.
    return json.dumps(text)
