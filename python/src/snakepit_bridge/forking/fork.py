"""A child that is forked, armed, and held until its host has recorded it.

What the child then becomes is a parameter.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from snakepit_bridge.forking import arming

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn, Protocol

    class Becoming(Protocol):
        """The part that runs in the child."""

        def prepare(self) -> None:
            """Runs before it is held: a failure here leaves nothing to undo."""

        def begin(self, reported: int) -> None:
            """Runs when it is released; closes `reported` once it runs, as an exec does."""


HELD = b"h"
_GO = b"g"
# The exit status of a child that was never released; it is not reported.
_NOT_WANTED = 125


class HeldChild:
    """A child between its fork and its release, as its parent sees it.

    Attributes:
        pid: Belongs to this child until it is reaped.
        report: A pipe to read: `HELD`, then its end when the child runs, or the number
            of the error that prevented it, in ASCII.
    """

    __slots__ = ("_go", "pid", "report")

    def __init__(self, pid: int, report: int, go: int) -> None:
        self.pid = pid
        self.report = report
        self._go: int | None = go

    def release(self) -> None:
        """Lets the child go on."""
        if self._go is None:
            return
        try:
            os.write(self._go, _GO)
        except BrokenPipeError:
            pass  # It was killed while it was held; its end is reported.
        self.close()

    def close(self) -> None:
        """Closes the pipe to it; if it is still held, it exits."""
        if self._go is not None:
            os.close(self._go)
            self._go = None


def fork_held(
    becoming: Becoming,
    descriptors: Mapping[int, int],
    in_child: Callable[[], None],
    kept: frozenset[int] = frozenset(),
) -> HeldChild:
    """Forks a child that leads its own session and has only these descriptors.

    The child dies with this process, from its first instruction on.

    Args:
        becoming: What the child becomes.
        descriptors: The child's numbers from 0 to 3, and the descriptors of this
            process that become them. Those are all above 3.
        in_child: Undoes what the child must not inherit.
        kept: Descriptors that the child keeps under the same numbers.

    Raises:
        OSError: There are no processes or descriptors left.
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
        # In any case this child must not become a second parent.
        os._exit(_NOT_WANTED)


def _close_all_but(kept: set[int]) -> None:
    low = 0
    for descriptor in sorted(kept):
        if low < descriptor:  # CPython closes everything for the range from 0 to 0.
            os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))
