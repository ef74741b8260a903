"""In which order a tree of processes is killed: a pure decision.

Leaves come first. If the killer itself is killed halfway, what is left is still one tree
that the next killer finds; killed from the top, the leaves would be unknown orphans. A
group is killed as a whole, since the kernel does that at one instant: a member that
forks just then cannot escape.
"""

from __future__ import annotations

from collections.abc import Iterable

from snakepit_guard.process_table import Process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Reach = Literal["group", "process"]

# A worker is a child of the guard, or of a preloaded parent that is one.
_LEVELS = 2


class Step:
    """One signal.

    Attributes:
        reach: Whether it is sent to the group of the process or to the process alone.
        root: The pid of the guard's child from which it descends.
        below: Its ancestors on the two uppermost levels, the lower one first: a worker
            is on one of them. A child of a guard has none.
    """

    __slots__ = ("below", "process", "reach", "root")

    def __init__(
        self,
        process: Process,
        reach: Reach,
        root: int,
        below: tuple[Process, ...] = (),
    ) -> None:
        self.process = process
        self.reach = reach
        self.root = root
        self.below = below


def kill_order(
    descendants: Iterable[Process], guard: Process, spared: frozenset[int] = frozenset()
) -> list[Step]:
    """Returns the signals that end these processes, in order.

    Args:
        descendants: Everything below the guard, parents before children.
        guard: The guard itself. Its group and session are never signalled: they include
            the other guards and children that have not left them yet.
        spared: Pids that get no signal, although their descendants do.
    """
    depth: dict[int, int] = {}
    root: dict[int, int] = {}
    # Guards are descendants of guards, in one session; they are no level of workers.
    below: dict[int, tuple[Process, ...]] = {}
    upper: dict[int, tuple[Process, ...]] = {}
    known = list(descendants)
    for process in known:
        depth[process.pid] = depth.get(process.parent, 0) + 1
        root[process.pid] = root.get(process.parent, process.pid)
        above = upper.get(process.parent, ())
        below[process.pid] = above
        is_level = len(above) < _LEVELS and process.session != guard.session
        upper[process.pid] = (process, *above) if is_level else above
    living = [each for each in known if not each.zombie and each.pid not in spared]
    head: dict[int, int] = {}
    for process in living:
        if process.group != guard.group and process.session != guard.session:
            head.setdefault(process.group, process.pid)
    # A stable sort: among equals the one seen last, the youngest, comes first.
    living.reverse()
    living.sort(key=lambda process: -depth[process.pid])
    return [
        Step(
            process,
            "group" if head.get(process.group) == process.pid else "process",
            root[process.pid],
            below[process.pid],
        )
        for process in living
    ]
