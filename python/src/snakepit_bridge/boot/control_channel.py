"""The control channel: one line of JSON from the host, one to it.

It uses only the C code of Python's `json`: the module itself compiles regular expressions
and imports `re` and `enum`, which is a tenth of a worker's start, to read one line and
write one. The module is used for unusual input.
"""

from __future__ import annotations

import fcntl
import os
import sys

from snakepit_bridge._version import NEWEST_PROTOCOL, __version__
from snakepit_bridge.own_imports import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


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


DESCRIPTOR = 3
MAX_LINE = 65536


class HostGone(Exception):
    """The host ended before it sent the launch message."""


class LaunchInvalid(Exception):
    """The launch message cannot be used."""


class StartFailed(Exception):
    """The worker cannot start; the reason is reported to the host."""

    def __init__(self, code: str, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.detail = detail


class ControlChannel:
    """File descriptor 3. It stays open for life, and no child inherits it."""

    def __init__(self, descriptor: int = DESCRIPTOR) -> None:
        """Takes over the descriptor.

        Raises:
            OSError: it is not open: no Snakepit host started this process.
        """
        self._descriptor = descriptor
        flags = fcntl.fcntl(descriptor, fcntl.F_GETFD)
        fcntl.fcntl(descriptor, fcntl.F_SETFD, flags | fcntl.FD_CLOEXEC)
        self._inode = os.fstat(descriptor).st_ino

    def read_launch_message(self) -> dict[str, object]:
        """Returns the launch message, unchecked.

        Raises:
            HostGone: the host died first.
            LaunchInvalid: it is not a line of JSON, or too long.
        """
        line = b""
        while not line.endswith(b"\n"):
            try:
                data = os.read(self._descriptor, MAX_LINE + 1 - len(line))
            except ConnectionError:
                data = b""
            if not data:
                raise HostGone
            line += data
            if len(line) > MAX_LINE:
                raise LaunchInvalid(f"it is longer than {MAX_LINE} bytes")
        try:
            message = read_json(line.decode("utf-8"))
        except ValueError as error:
            raise LaunchInvalid(f"it is not JSON: {error}") from None
        if not isinstance(message, dict):
            raise LaunchInvalid("it is not a JSON object")
        return message

    def ready_for(self, newest_protocol: int, lifeline: str, **more: object) -> None:
        """Reports that this process is ready.

        Args:
            newest_protocol: the newest one of the host.
            lifeline: what ends this process with its host.
            more: other facts.
        """
        facts = {
            "protocol": min(NEWEST_PROTOCOL, newest_protocol),
            "bridge": __version__,
            "python": sys.version.split()[0],
            "lifeline": lifeline,
        }
        self.ready({**facts, **more})

    def ready(self, facts: dict[str, object]) -> None:
        """Reports that this process is ready, with these facts."""
        self._write({"ready": facts})

    def failed(self, failure: StartFailed) -> None:
        """Reports why the worker cannot start."""
        # A character takes at most 6 bytes of the line, for example \\udcff.
        body = {
            "code": failure.code,
            "message": cut_in_the_middle(failure.message, 2000),
            "detail": cut_in_the_middle(failure.detail, 8000),
        }
        self._write({"failed": body})

    def intact(self) -> bool:
        """Returns whether the descriptor is still the same; user code may close it."""
        try:
            return os.fstat(self._descriptor).st_ino == self._inode
        except OSError:
            return False

    def _write(self, message: dict[str, object]) -> None:
        data = encode_line(message)
        while data:
            data = data[os.write(self._descriptor, data) :]


def encode_line(message: dict[str, object]) -> bytes:
    """Returns a line of the control channel."""
    return write_json(message).encode("utf-8", "backslashreplace") + b"\n"


def cut_in_the_middle(text: str, limit: int) -> str:
    """Returns at most `limit` characters of the text: its two ends."""
    if len(text) <= limit:
        return text
    half = (limit - 40) // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n[... {left_out} characters ...]\n{text[-half:]}"
