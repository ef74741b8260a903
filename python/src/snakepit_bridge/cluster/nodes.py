"""Whether the cluster has the resources of a worker, and a text about missing ones."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Node", "missing_everywhere", "missing_now"]


class Node(NamedTuple):
    """A living node: its resources, and the free ones."""

    id: str
    name: str
    address: str
    total: dict[str, float]
    free: dict[str, float]

    def describe(self, asked: dict[str, float]) -> str:
        """Describes its share of the requested resources."""
        amounts = ", ".join(
            f"{name} {self.free.get(name, 0):g} free of {self.total.get(name, 0):g}"
            for name in asked
        )
        return f"{self.name} ({self.address}): {amounts}"


def missing_everywhere(asked: dict[str, float], nodes: list[Node]) -> str | None:
    """Returns why no node can ever run such a worker; None if one can."""
    wanted = _wanted(asked)
    if any(_has(node.total, wanted) for node in nodes):
        return None
    return (
        f"a worker asks for {_amounts(wanted)}, and no node of the cluster has that in "
        "total"
    )


def missing_now(asked: dict[str, float], nodes: list[Node]) -> str | None:
    """Returns why no node can run such a worker now; None if one can."""
    wanted = _wanted(asked)
    if any(_has(node.free, wanted) for node in nodes):
        return None
    return f"a worker asks for {_amounts(wanted)}, and no node has that free"


def describe(asked: dict[str, float], nodes: list[Node]) -> str:
    """Returns a line for each node."""
    wanted = _wanted(asked)
    return "\n".join(node.describe(wanted) for node in nodes) or "there is no node"


def _wanted(asked: dict[str, float]) -> dict[str, float]:
    return {name: amount for name, amount in asked.items() if amount > 0}


def _has(amounts: dict[str, float], wanted: dict[str, float]) -> bool:
    return all(amounts.get(name, 0) >= amount for name, amount in wanted.items())


def _amounts(amounts: dict[str, float]) -> str:
    return ", ".join(f"{amount:g} {name}" for name, amount in amounts.items())
