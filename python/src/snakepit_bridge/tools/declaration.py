"""The decorators that tools are written with."""

from __future__ import annotations

from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, TypeVar, overload

    from snakepit_bridge.tools.batch import Batch

    _Function = TypeVar("_Function", bound=Callable[..., Any])
    _Class = TypeVar("_Class", bound=type)
else:

    def overload(function):
        """Replaces the one of `typing`, which no worker needs."""
        return function


MARK: Final = "__snakepit__"


class Answers:
    """How a tool's result reaches the host; not an `enum`, which takes longer to import
    than everything here.
    """

    def __init__(self, how: str) -> None:
        self._how = how

    def __repr__(self) -> str:
        return f"<Answers: {self._how}>"

    VALUE: Answers
    REFERENCE: Answers
    # As a handle if it is not a value.
    EITHER: Answers


Answers.VALUE = Answers("as a value")
Answers.REFERENCE = Answers("as a handle")
Answers.EITHER = Answers("as either")


class ToolMark:
    """On a function: it is a tool."""

    def __init__(
        self,
        name: str | None,
        input: object,
        batch: Batch | None = None,
        *,
        foreign: bool = False,
        answers: Answers | None = None,
    ) -> None:
        self.name = name
        # Not written as a tool, so its annotations are not meant for a host.
        self.foreign = foreign
        # None: as its annotation says.
        self.answers = answers
        # The type of an input item; `NO_INPUT` where there is no input stream.
        self.input = input
        self.batch = batch


class ToolsetMark:
    """On a class: each worker makes one instance, whose methods are tools."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix


class HookMark:
    """On a function: it runs when the worker starts or ends."""

    def __init__(self, moment: str) -> None:
        self.moment = moment


class _NoInput:
    def __repr__(self) -> str:
        return "NO_INPUT"


NO_INPUT: Final = _NoInput()


@overload
def tool(function: _Function, /) -> _Function: ...
@overload
def tool(  # noqa: F811
    *,
    name: str | None = None,
    input: object = NO_INPUT,
    batch: Batch | None = None,
) -> Callable[[_Function], _Function]: ...
def tool(  # noqa: F811
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    input: object = NO_INPUT,
    batch: Batch | None = None,
) -> Callable[..., Any]:
    """Makes a function, or a method of a `toolset`, callable from the host.

    The function may be synchronous or asynchronous; a generator answers with a
    stream of chunks. Arguments are checked against its annotations. The function
    itself does not change: call it as before, for example in tests.

    Args:
        function: what to decorate, when used bare: `@tool`.
        name: what the host calls it; the function's own name by default.
        input: the type of an item of the input stream that the tool
            reads from `current_call().input`; without it there is none.
        batch: how many calls the function takes at a time, as one list; without
            it, one call.

    Raises:
        TypeError: the decorated object cannot be called, or `batch` is no `Batch`.
    """
    if batch is not None:
        _check_batch(batch)

    def mark(target: _Function) -> _Function:
        return _marked(target, ToolMark(name, input, batch), "tool")

    return mark if function is None else mark(function)


def _check_batch(batch: object) -> None:
    # Few tools are batches.
    from snakepit_bridge.tools.batch import Batch

    if not isinstance(batch, Batch):
        most = batch if type(batch) is int and batch >= 1 else 32
        raise TypeError(
            f"batch={batch!r:.60} is not a Batch; write @tool(batch=Batch(max={most}))"
        )


@overload
def toolset(cls: _Class, /) -> _Class: ...
@overload
def toolset(*, prefix: str = "") -> Callable[[_Class], _Class]: ...  # noqa: F811
def toolset(cls: type | None = None, /, *, prefix: str = "") -> Any:  # noqa: F811
    """Makes the methods of a class callable: one instance per worker.

    Each worker creates the instance when it starts, without arguments, in its main
    thread: load a model there. If the instance is a context manager, asynchronous or
    not, the worker enters it, and leaves it at its own end. Methods under `on_startup` and `on_shutdown` are hooks, and
    so are methods named `setup` and `teardown`.

    The tools are the methods under `tool`; if there are none, all other public methods
    are tools. A method that is inherited from another module is a tool or a hook only
    with a decorator.

    Args:
        cls: what to decorate, when used bare: `@toolset`.
        prefix: put in front of the names of its tools, such as `images.`.

    Raises:
        TypeError: the decorated object is not a class.
    """

    def mark(target: _Class) -> _Class:
        if not isinstance(target, type):
            raise TypeError(f"@toolset is for classes, not for {target!r}")
        setattr(target, MARK, ToolsetMark(prefix))
        return target

    return mark if cls is None else mark(cls)


def on_startup(function: _Function) -> _Function:
    """Runs a function (synchronous or not) once, before the worker takes calls.

    It runs in the main thread. If it raises, the worker does not start, and
    the host receives the error.

    Raises:
        TypeError: the decorated object cannot be called.
    """
    return _marked(function, HookMark("startup"), "on_startup")


def on_shutdown(function: _Function) -> _Function:
    """Runs a function (synchronous or not) once, after the worker's last call.

    It runs in the main thread when the worker exits normally, but not when the worker or
    its host is killed. If the start fails, it runs only if the start-up hooks of the same
    module or toolset have run.

    Raises:
        TypeError: the decorated object cannot be called.
    """
    return _marked(function, HookMark("shutdown"), "on_shutdown")


def _marked(function: _Function, mark: object, decorator: str) -> _Function:
    if isinstance(function, type) or not callable(function):
        raise TypeError(
            f"@{decorator} is for functions and methods, not for {function!r}"
        )
    setattr(function, MARK, mark)
    return function
