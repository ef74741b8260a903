"""The gateway's launch message (docs/bridge-protocol.md)."""

from __future__ import annotations

from typing import Any, NamedTuple

from snakepit_bridge.boot.control_channel import LaunchInvalid
from snakepit_bridge.boot.launch_message import Launch, object_of, text_of


class Resources(NamedTuple):
    """What a worker reserves, by Ray's names: `CPU`, `GPU`, and the cluster's own."""

    amounts: dict[str, float]

    def options(self) -> dict[str, Any]:
        """Returns them as options of a Ray actor."""
        own = {
            name: amount
            for name, amount in self.amounts.items()
            if name not in ("CPU", "GPU")
        }
        return {
            "num_cpus": self.amounts.get("CPU", 0),
            "num_gpus": self.amounts.get("GPU", 0),
            "resources": own,
        }


class GatewayLaunch(Launch):
    """The launch message of a gateway.

    Attributes:
        address: Of the cluster, or `auto`.
        pool: The name of the pool.
        resources: What each worker reserves.
        placement: `spread`, `pack`, or `{"node": ID_OR_ADDRESS}`.
        runtime_env: The user's, for Ray.
        runs_elsewhere: Runs of other machines of which the host wants to know.
        keep_alive_ms: A connection is lost if its other end does not answer for this
            long.
        message: All of it, unchecked.
        tls: Paths of the user's `ca`, `certificate` and `key`; None to make own ones.
        start_timeout_ms: The host gives up on a worker after this.
    """

    def __init__(self, message: dict[str, object]) -> None:
        super().__init__(message)
        self.message = message

    def _read(self) -> None:
        super()._read()
        payload = self.payload
        self.address = text_of(payload, "address")
        self.pool = text_of(payload, "pool")
        runs = payload.get("runsElsewhere")
        self.runs_elsewhere = list(map(str, runs if isinstance(runs, list) else []))
        amounts = object_of(payload, "resources") or {}
        self.resources = Resources(
            {
                "CPU": _number(amounts.get("CPU", 1), "resources.CPU"),
                "GPU": _number(amounts.get("GPU", 0), "resources.GPU"),
                **{
                    name: _number(amount, f"resources.custom.{name}")
                    for name, amount in (object_of(amounts, "custom") or {}).items()
                },
            }
        )
        self.placement = payload.get("placement", "spread")
        self.runtime_env = object_of(payload, "runtimeEnv") or {}
        connection = object_of(payload, "connection") or {}
        self.keep_alive_ms = int(
            _number(connection.get("keepAliveMs", 10_000), "connection.keepAliveMs")
        )
        tls = connection.get("tls")
        self.tls = (
            None
            if tls is None
            else {str(name): str(path) for name, path in tls.items()}
        )
        self.start_timeout_ms = int(
            _number(payload.get("startTimeoutMs", 30_000), "startTimeoutMs")
        )


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
        raise LaunchInvalid(f"payload.{name} is not a number of 0 or more: {value!r}")
    return value
