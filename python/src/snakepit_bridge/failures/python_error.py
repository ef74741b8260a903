"""A Python exception as it is reported to the host, with a limit on every part."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from types import TracebackType

import snakepit_bridge
from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.boot.control_channel import cut_in_the_middle

__all__ = ["error_text", "error_type", "python_error", "without_bridge"]

MAX_TEXT = 64 << 10
MAX_NOTES = 32
MAX_NOTE = 2 << 10
MAX_FRAMES = 100
MAX_CAUSES = 8

_PACKAGE = __name__.partition(".")[0] + "."


def python_error(error: BaseException) -> pb.PythonError:
    """Returns the image of an exception with its causes."""
    return _image(error, MAX_CAUSES, set(), whole=True)


def error_type(error: BaseException) -> str:
    """Returns `module.QualifiedName`; builtins have no module."""
    kind = type(error)
    module = kind.__module__
    if module in ("builtins", "__main__"):
        return kind.__qualname__
    name = kind.__qualname__
    if str(module).startswith(_PACKAGE) and name in snakepit_bridge.__all__:
        # The name by which tools import it, not the module that defines it.
        module = snakepit_bridge.__name__
    return f"{module}.{kind.__qualname__}"


def error_text(error: BaseException) -> str:
    """Returns the exception's text, even if the exception fails to make it."""
    return _bounded(_text(error), MAX_TEXT)


def without_bridge(trace: TracebackType | None) -> TracebackType | None:
    """Returns the part of the traceback that begins with user code."""
    begin = trace
    while begin is not None:
        module = begin.tb_frame.f_globals.get("__name__", "")
        if not (isinstance(module, str) and module.startswith(_PACKAGE)):
            return begin
        begin = begin.tb_next
    # All of it is the bridge's, so all of it is shown.
    return trace


def _image(
    error: BaseException, causes: int, seen: set[int], *, whole: bool
) -> pb.PythonError:
    seen.add(id(error))
    trace = without_bridge(error.__traceback__)
    image = pb.PythonError(
        type=error_type(error),
        message=error_text(error),
        traceback=_traceback_text(error, trace, whole),
        notes=_notes(error),
        frames=_frames(trace),
    )
    cause = _cause(error)
    if cause is not None and causes > 0 and id(cause) not in seen:
        image.cause.CopyFrom(_image(cause, causes - 1, seen, whole=False))
    return image


def _cause(error: BaseException) -> BaseException | None:
    if error.__cause__ is not None:
        return error.__cause__
    return None if error.__suppress_context__ else error.__context__


def _traceback_text(
    error: BaseException, trace: TracebackType | None, whole: bool
) -> str:
    try:
        lines = traceback.format_exception(type(error), error, trace, chain=whole)
        return _bounded("".join(lines), MAX_TEXT)
    except Exception as second:  # noqa: BLE001 - runs user code
        return f"<no traceback: {error_type(second)}>"


def _notes(error: BaseException) -> Iterator[str]:
    try:
        notes = getattr(error, "__notes__", ())
    except Exception:  # noqa: BLE001 - its own __getattr__, which knows of none
        return
    if isinstance(notes, (list, tuple)):
        for note in notes[:MAX_NOTES]:
            yield _bounded(_text(note), MAX_NOTE)


def _frames(trace: TracebackType | None) -> list[pb.StackFrame]:
    frames = [
        pb.StackFrame(
            file=_bounded(frame.f_code.co_filename, MAX_NOTE),
            line=line,
            function=frame.f_code.co_name,
        )
        for frame, line in traceback.walk_tb(trace)
    ]
    if len(frames) > MAX_FRAMES:
        half = MAX_FRAMES // 2
        frames = frames[:half] + frames[-half:]
    return frames


def _text(of: object) -> str:
    try:
        return str(of)
    except Exception as second:  # noqa: BLE001 - user code
        return f"<its text raised {error_type(second)}>"


def _bounded(text: str, limit: int) -> str:
    # Protobuf refuses lone surrogates.
    clean = text.encode("utf-8", "backslashreplace").decode()
    return cut_in_the_middle(clean, limit)
