"""The children of this process, from /proc."""

from __future__ import annotations

import os


def own_children() -> list[int]:
    """Returns the pids of the children of this process, including zombies."""
    children: list[int] = []
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/children", "rb", 0) as file:
                children += map(int, file.read().split())
        except FileNotFoundError:
            if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
                return _children_by_scan()
    return children


def _children_by_scan() -> list[int]:
    """Searches all of /proc: a kernel without CONFIG_PROC_CHILDREN does not list them."""
    return [
        int(name)
        for name in os.listdir("/proc")
        if name.isdigit() and _parent_of(name) == os.getpid()
    ]


def _parent_of(pid: str) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb", 0) as file:
            text = file.read()
    except OSError:
        return None
    # After the name, which may contain anything, and the state.
    return int(text[text.rfind(b")") + 2 :].split()[1])
