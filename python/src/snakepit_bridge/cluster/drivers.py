"""Which runs of other machines the cluster knows, by their drivers."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Driver", "located", "namespace_of"]


class Driver(NamedTuple):
    """A driver of the cluster, living or not: a gateway, or anything else."""

    namespace: str
    address: str
    is_dead: bool


def namespace_of(run_id: str) -> str:
    """Returns the namespace of the gateways of a run."""
    return f"snakepit-{run_id}"


def located(
    runs: list[str], drivers: list[Driver], names: dict[str, str]
) -> list[dict[str, object]]:
    """Returns `runId`, `place` and `owner` of the runs that have or had a driver.

    A gateway ends with the host of its run.

    Args:
        runs: That are asked for.
        drivers: The oldest first.
        names: Of the living nodes, by address.
    """
    found: list[dict[str, object]] = []
    for run in runs:
        own = [each for each in drivers if each.namespace == namespace_of(run)]
        if not own:
            continue
        living = [each for each in own if not each.is_dead and each.address in names]
        address = (living or own)[-1].address
        found.append(
            {
                "runId": run,
                "place": {"name": names.get(address, address), "address": address},
                "owner": "alive" if living else "gone",
            }
        )
    return found
