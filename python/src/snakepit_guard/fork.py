"""A child that is forked, armed, and held until its host has recorded it.

What it then becomes is handed in: a program that replaces it (`execute`), or whatever
a preloaded parent has ready.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from snakepit_guard import arming

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn, Protocol

    class Becoming(Protocol):
        """What a child does, in the child."""

        def prepare(self) -> None:
            """Before it is held: what can fail without anybody having heard of it."""

        def begin(self, reported: int) -> None:
            """When it may go on; closes `reported` when it runs, which an exec does."""


HELD = b"h"
_GO = b"g"
# Of a child that nobody let go; nobody hears of it.
_NOT_WANTED = 125


class HeldChild:
    """A child between its fork and its own work, as its parent sees it.

    Attributes:
        pid: Ours until we reap it.
        report: Readable: `HELD`, then the end of the pipe when it runs, or the number
            of the error that kept it from that, in ASCII.
    """

    __slots__ = ("_go", "pid", "report")

    def __init__(self, pid: int, report: int, go: int) -> None:
        self.pid = pid
        self.report = report
        self._go: int | None = go

    def let_go(self) -> None:
        """Lets it begin."""
        if self._go is None:
            return
        try:
            os.write(self._go, _GO)
        except BrokenPipeError:
            pass  # It was killed while it was held: its end is told.
        self.close()

    def close(self) -> None:
        """Has nothing more to say to it; if it is still held, it ends."""
        if self._go is not None:
            os.close(self._go)
            self._go = None


def fork_held(
    becoming: Becoming,
    descriptors: Mapping[int, int],
    in_child: Callable[[], None],
    kept: frozenset[int] = frozenset(),
) -> HeldChild:
    """Forks a child: leader of a session of its own, with these descriptors and no others.

    It dies with this process, from its first instruction on.

    Args:
        becoming: What it is to be.
        descriptors: Its own numbers from 0 to 3, and which of ours become them. Ours
            are all above those.
        in_child: Undoes what the child must not inherit.
        kept: Descriptors of ours that it has under the same numbers.

    Raises:
        OSError: No process or no descriptors are to be had.
    """
    report, reported = os.pipe2(os.O_CLOEXEC)
    try:
        gate, go = os.pipe2(os.O_CLOEXEC)
    except OSError:
        os.close(report)
        os.close(reported)
        raise
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError:
        for descriptor in (report, reported, gate, go):
            os.close(descriptor)
        raise
    if pid == 0:
        _be_child(becoming, descriptors, in_child, kept, parent, reported, gate)
    os.close(reported)
    os.close(gate)
    return HeldChild(pid, report, go)


def _be_child(
    becoming: Becoming,
    descriptors: Mapping[int, int],
    in_child: Callable[[], None],
    kept: frozenset[int],
    parent: int,
    reported: int,
    gate: int,
) -> NoReturn:
    try:
        arming.die_with_parent(parent)
        os.setsid()
        in_child()
        for number, descriptor in descriptors.items():
            os.dup2(descriptor, number)
        _close_all_but({*descriptors, *kept, reported, gate})
        becoming.prepare()
        os.write(reported, HELD)
        if os.read(gate, 1) != _GO:
            os._exit(_NOT_WANTED)
        os.close(gate)
        becoming.begin(reported)
    except OSError as error:
        os.write(reported, str(error.errno).encode())
    finally:
        # Whatever happens: this child never becomes a second guard.
        os._exit(_NOT_WANTED)


def _close_all_but(kept: set[int]) -> None:
    low = 0
    for descriptor in sorted(kept):
        if low < descriptor:  # CPython takes the range from 0 to 0 for everything.
            os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))
