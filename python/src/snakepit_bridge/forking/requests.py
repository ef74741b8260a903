"""The host's requests, and their checks.

The answers are the messages `held`, `running`, `failed` and `exited`. The native guard
speaks the same protocol.

All numbers are big-endian. The first byte names the request. Four bytes of id follow, but
for `end`; with a start also one byte, whose bit n is set if the worker gets a connection
as its descriptor n, four bytes with the number of arguments, four with that of variables,
and strings, each of which ends with a NUL: label, executable, working directory, the
arguments, and the variables as NAME=VALUE.
"""

from __future__ import annotations

import struct

from snakepit_bridge.forking.frames import FrameError

# Descriptors that a worker can have, and their numbers. Without `stdin` it is empty.
DESCRIPTORS = {"stdin": 0, "stdout": 1, "stderr": 2, "control": 3}


class Start:
    """Fork a held worker with these descriptors, that reads these arguments."""

    __slots__ = ("args", "cwd", "descriptors", "env", "id")

    def __init__(
        self,
        id: int,
        args: list[bytes],
        env: dict[bytes, bytes],
        cwd: bytes,
        descriptors: frozenset[int],
    ) -> None:
        self.id = id
        self.args = args
        self.env = env
        self.cwd = cwd
        self.descriptors = descriptors


class About:
    """A request about a worker that was started.

    Attributes:
        what: `go`: it is recorded, let it run. `discard`: kill it and do not report it.
            `reap`: its end was recorded, free its pid.
        id: The number of its start.
    """

    __slots__ = ("id", "what")

    def __init__(self, what: str, id: int) -> None:
        self.what = what
        self.id = id


class End:
    """The run has ended: kill what is left, and exit."""

    __slots__ = ()


_START, _END = 1, 5
_ABOUT = {2: "go", 3: "discard", 4: "reap"}
_HEAD = struct.Struct(">BI")
_START_HEAD = struct.Struct(">BIBII")
_ALL_DESCRIPTORS = sum(1 << number for number in DESCRIPTORS.values())


def parse_request(body: bytes) -> Start | About | End:
    """Checks a request of the host.

    Raises:
        FrameError: It is not a request.
    """
    kind = body[0] if body else 0
    if kind == _START:
        return _start(body)
    if kind in _ABOUT and len(body) == _HEAD.size:
        return About(_ABOUT[kind], _HEAD.unpack(body)[1])
    if kind == _END and len(body) == 1:
        return End()
    raise FrameError(f"an unknown request: {body[:20]!r}")


def _start(body: bytes) -> Start:
    if len(body) <= _START_HEAD.size or body[-1] != 0:
        raise FrameError("a start that is cut")
    _, id, descriptors, argument_count, variable_count = _START_HEAD.unpack_from(body)
    strings = body[_START_HEAD.size : -1].split(b"\0")
    if len(strings) != 3 + argument_count + variable_count:
        raise FrameError(f"a start with {len(strings)} strings")
    if descriptors & ~_ALL_DESCRIPTORS:
        raise FrameError("a start with unknown descriptors")
    # A preloaded parent has no use for the label, nor for the name of the program.
    _label, _executable, cwd, *rest = strings
    return Start(
        id=id,
        args=rest[:argument_count],
        env=dict(map(_variable, rest[argument_count:])),
        cwd=cwd,
        descriptors=frozenset(
            number for number in DESCRIPTORS.values() if descriptors >> number & 1
        ),
    )


def _variable(text: bytes) -> tuple[bytes, bytes]:
    name, sign, value = text.partition(b"=")
    if not name or not sign:
        raise FrameError("a variable without a name")
    return name, value
