"""What a host can ask for, and the check that it asks properly.

The messages `held`, `running`, `failed` and `exited` answer; a preloaded parent speaks
the same, with another `start`.
"""

from __future__ import annotations

from snakepit_guard.frames import FrameError

# The version that the first message of the guard names.
PROTOCOL_VERSION = 1

# What a worker can have open, and its number there. `stdin` that is not asked for is empty.
DESCRIPTORS = {"stdin": 0, "stdout": 1, "stderr": 2, "control": 3}


class Start:
    """Fork a worker that is held, with these descriptors, to execute this program."""

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
    """Something about a worker that was asked for.

    Attributes:
        what: `go`: it is recorded, let it run. `discard`: it is not wanted any more.
            `reap`: its end was seen, free its pid.
        id: Which start.
    """

    __slots__ = ("id", "what")

    def __init__(self, what: str, id: int) -> None:
        self.what = what
        self.id = id


class End:
    """The run has ended in order: leave nothing, and end."""

    __slots__ = ()


def parse_request(message: dict[str, object]) -> Start | About | End:
    """Checks a message of the host.

    Raises:
        FrameError: It is none.
    """
    kind = message.get("type")
    if kind == "start":
        return _start(message)
    if kind in ("go", "discard", "reap"):
        return About(str(kind), _id(message))
    if kind == "end":
        return End()
    raise FrameError(f"no request is called {kind!r:.40}")


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
        raise FrameError("a start whose label is no text")
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
    """The bytes that the system takes: UTF-8, as Node writes them."""
    if not isinstance(value, str):
        raise FrameError("a number or nothing where text belongs")
    try:
        encoded = value.encode("utf-8")
    except UnicodeEncodeError:
        raise FrameError("text with half a character") from None
    if b"\0" in encoded:
        raise FrameError("text with a NUL")
    return encoded
