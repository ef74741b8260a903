"""The host's requests, and their checks.

The answers are the messages `held`, `running`, `failed` and `exited`. A preloaded parent
speaks the same protocol.
"""

from __future__ import annotations

from snakepit_guard.frames import FrameError

# The version that the first message of the guard names.
PROTOCOL_VERSION = 1

# Descriptors that a worker can have, and their numbers. Without `stdin` it is empty.
DESCRIPTORS = {"stdin": 0, "stdout": 1, "stderr": 2, "control": 3}


class Start:
    """Fork a held worker with these descriptors, to execute this program."""

    __slots__ = ("args", "cwd", "descriptors", "env", "executable", "id", "label")

    def __init__(
        self,
        id: int,
        label: str | None,
        executable: bytes,
        args: list[bytes],
        env: dict[bytes, bytes],
        cwd: bytes,
        descriptors: frozenset[int],
    ) -> None:
        self.id = id
        self.label = label
        self.executable = executable
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


def parse_request(message: dict[str, object]) -> Start | About | End:
    """Checks a message of the host.

    Raises:
        FrameError: It is not a request.
    """
    kind = message.get("type")
    if kind == "start":
        return _start(message)
    if kind in ("go", "discard", "reap"):
        return About(str(kind), _id(message))
    if kind == "end":
        return End()
    raise FrameError(f"an unknown request: {kind!r:.40}")


def _start(message: dict[str, object]) -> Start:
    args = message.get("args")
    env = message.get("env")
    descriptors = message.get("descriptors")
    label = message.get("label")
    if not isinstance(args, list) or not isinstance(env, dict):
        raise FrameError("a start without args or env")
    if not isinstance(descriptors, list) or not all(
        isinstance(name, str) and name in DESCRIPTORS for name in descriptors
    ):
        raise FrameError("a start with unknown descriptors")
    if label is not None and not isinstance(label, str):
        raise FrameError("a start whose label is not a string")
    return Start(
        id=_id(message),
        label=label,
        executable=_text(message.get("executable")),
        args=[_text(argument) for argument in args],
        env={_variable(name): _text(value) for name, value in env.items()},
        cwd=_text(message.get("cwd")),
        descriptors=frozenset(DESCRIPTORS[name] for name in descriptors),
    )


def _id(message: dict[str, object]) -> int:
    id = message.get("id")
    if not isinstance(id, int) or isinstance(id, bool) or not 0 <= id < 2**32:
        raise FrameError("a request without an id")
    return id


def _variable(name: object) -> bytes:
    encoded = _text(name)
    if not encoded or b"=" in encoded:
        raise FrameError("a variable whose name is empty or has an =")
    return encoded


def _text(value: object) -> bytes:
    """Encodes text for the system: as UTF-8, as Node does."""
    if not isinstance(value, str):
        raise FrameError("a value that has to be a string is not one")
    try:
        encoded = value.encode("utf-8")
    except UnicodeEncodeError:
        raise FrameError("text with a lone surrogate") from None
    if b"\0" in encoded:
        raise FrameError("text with a NUL")
    return encoded
