"""A Python exception as it is reported to the host, with a limit on every part.

Its class may define every attribute anew, with code that raises. So what Python itself keeps
of an exception is read past the class, and a text that cannot be had is left out.
"""

from __future__ import annotations

import builtins
import traceback
from collections.abc import Iterator
from types import TracebackType

import snakepit_bridge
from snakepit_bridge.boot.control_channel import cut_in_the_middle
from snakepit_bridge.frames import PythonError, StackFrame
from snakepit_bridge.own_imports import isolated


def bounded(text: str, limit: int) -> str:
    """Returns at most `limit` bytes of the text: its two ends.

    Lone surrogates, which protobuf refuses, are escaped.
    """
    # An instance of a subclass may do anything.
    text = str.__str__(text)
    # Before it is copied: a text may be huge.
    data = cut_in_the_middle(text, limit).encode("utf-8", "backslashreplace")
    if len(data) <= limit:
        return data.decode()
    half = (limit - 40) // 2
    left_out = len(data) - 2 * half
    begin = data[:half].decode(errors="ignore")
    end = data[-half:].decode(errors="ignore")
    return f"{begin}\n[... {left_out} bytes ...]\n{end}"


# All of it fits into the smallest message that a host can ask for, which is 1 MiB.
MAX_ERROR = 768 << 10
MAX_TEXT = 64 << 10
# The traceback of the error has those of its causes, too.
MAX_TEXT_OF_CAUSE = 16 << 10
MAX_MEMBERS = 3
MAX_NOTES = 32
MAX_NOTE = 2 << 10
MAX_FRAMES = 100
MAX_CAUSES = 8
# The most bytes around a text, and the number of a line.
_AROUND_TEXT = 10

_PACKAGE = __name__.partition(".")[0] + "."
# Of the exception itself, whatever its class has under these names.
_TRACEBACK, _CAUSE, _CONTEXT, _IS_SUPPRESSED = (
    vars(BaseException)[f"__{name}__"].__get__
    for name in ("traceback", "cause", "context", "suppress_context")
)


def python_error(error: BaseException) -> PythonError:
    """Returns the encoding of an exception with its causes."""
    records = [_image(error, MAX_TEXT, whole=True)]
    reported = {id(error)}
    room = MAX_ERROR - _size(records[0])
    cause = _cause(error)
    while (
        cause is not None and id(cause) not in reported and len(records) <= MAX_CAUSES
    ):
        encoding = _image(cause, MAX_TEXT_OF_CAUSE, whole=False)
        room -= _size(encoding)
        if room < 0:
            break
        records.append(encoding)
        reported.add(id(cause))
        cause = _cause(cause)
    while len(records) > 1:
        last = records.pop()
        records[-1].cause = last
    return records[0]


def error_type(error: BaseException) -> str:
    """Returns `module.QualifiedName`; builtins have no module."""
    kind = type(error)
    # Not by the class: its own class may have attributes of these names.
    name: str = vars(type)["__qualname__"].__get__(kind)
    module = vars(type)["__module__"].__get__(kind)
    if type(module) is not str or module in ("builtins", "__main__"):
        return name
    if module.startswith(_PACKAGE) and name in snakepit_bridge.__all__:
        # The name by which tools import it, not the module that defines it.
        module = snakepit_bridge.__name__
    return f"{module}.{name}"


def error_summary(error: BaseException) -> str:
    """Returns type and text of an exception, even if its `__str__` fails.

    For a group, also those of its members: its own text has only their number, and
    asyncio's TaskGroup always raises a group.
    """
    kind, text = error_type(error), bounded(_text(error), MAX_TEXT)
    summary = f"{kind}: {text}" if text else kind
    members = _members(error)
    if not members:
        return summary
    shown = "; ".join(error_summary(member) for member in members[:MAX_MEMBERS])
    more = len(members) - MAX_MEMBERS
    return f"{summary}: {shown}" + (f"; and {more} more" if more > 0 else "")


def traceback_text(error: BaseException) -> str:
    """Returns what Python prints of an exception, beginning with user code."""
    trace = without_bridge(_TRACEBACK(error))
    return formatted(error, trace).rstrip()


def formatted(
    error: BaseException, trace: TracebackType | None, *, chain: bool = True
) -> str:
    """Returns what Python prints of an exception.

    Python runs code of the exception for that. If it fails, causes are left out; if that
    does, the lines of the source are.
    """
    # It imports what it needs for some lines, and opens files.
    with isolated():
        try:
            lines = traceback.format_exception(type(error), error, trace, chain=chain)
            return "".join(map(str.__str__, lines))
        except BaseException:  # noqa: BLE001 - user code
            end = f"{error_summary(error)}\n"
        try:
            frames = traceback.format_list(traceback.extract_tb(trace))
        except BaseException:  # noqa: BLE001 - a module of the tools has its own loader
            frames = [
                f'  File "{frame.f_code.co_filename}", line {line}, '
                f"in {frame.f_code.co_name}\n"
                for frame, line in traceback.walk_tb(trace)
            ]
    return "".join(["Traceback (most recent call last):\n", *frames, end])


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


def _image(error: BaseException, limit: int, *, whole: bool) -> PythonError:
    trace = without_bridge(_TRACEBACK(error))
    return PythonError(
        type=bounded(error_type(error), MAX_NOTE),
        message=bounded(_text(error), limit),
        traceback=bounded(formatted(error, trace, chain=whole), limit),
        notes=list(_notes(error)),
        frames=_frames(trace),
    )


def _size(error: PythonError) -> int:
    """Returns about how many bytes it takes in a frame."""
    texts = [error.type, error.message, error.traceback, *error.notes]
    for frame in error.frames:
        texts += (frame.file, frame.function)
    return sum(len(text.encode()) + _AROUND_TEXT for text in texts)


def _members(error: BaseException) -> list[BaseException]:
    """Returns the exceptions in a group, and in the groups in it."""
    # Python 3.10 has no groups.
    group = getattr(builtins, "BaseExceptionGroup", None)
    members: list[BaseException] = []
    # Not `isinstance`, which an exception can answer itself.
    if group is None or not issubclass(type(error), group):
        return members
    left = [error]
    while left:
        one = left.pop()
        if issubclass(type(one), group):
            # A class of the user may have another attribute of this name.
            left.extend(reversed(group.exceptions.__get__(one)))
        else:
            members.append(one)
    return members


def _cause(error: BaseException) -> BaseException | None:
    cause: BaseException | None = _CAUSE(error)
    if cause is None and not _IS_SUPPRESSED(error):
        cause = _CONTEXT(error)
    return cause


def _notes(error: BaseException) -> Iterator[str]:
    try:
        notes = getattr(error, "__notes__", ())
        if not isinstance(notes, (list, tuple)):
            return
        notes = list(notes[:MAX_NOTES])
    except BaseException:  # noqa: BLE001 - its own __getattr__, which knows of none
        return
    for note in notes:
        yield bounded(_text(note), MAX_NOTE)


def _frames(trace: TracebackType | None) -> list[StackFrame]:
    frames = [
        StackFrame(
            file=bounded(frame.f_code.co_filename, MAX_NOTE),
            line=line,
            function=bounded(frame.f_code.co_name, MAX_NOTE),
        )
        for frame, line in traceback.walk_tb(trace)
    ]
    if len(frames) > MAX_FRAMES:
        half = MAX_FRAMES // 2
        frames = frames[:half] + frames[-half:]
    return frames


def _text(of: object) -> str:
    try:
        # Of a subclass of `str`, the text that it is.
        return str.__str__(str(of))
    except BaseException as second:  # noqa: BLE001 - user code, which may call sys.exit()
        return f"<its text raised {error_type(second)}>"
