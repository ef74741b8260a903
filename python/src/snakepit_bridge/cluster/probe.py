"""`python -m snakepit_bridge nodes`: checks that each node of a cluster keeps the
promises.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
import tempfile
import time
from typing import Any

from snakepit_bridge._version import NEWEST_PROTOCOL, OLDEST_PROTOCOL
from snakepit_bridge.boot import exit_status
from snakepit_bridge.boot.control_channel import StartFailed
from snakepit_bridge.cluster.gateway import Gateway
from snakepit_bridge.cluster.gateway_launch import GatewayLaunch, Resources
from snakepit_bridge.cluster.ray_cluster import Node
from snakepit_bridge.cluster.relay_actor import RelayActor
from snakepit_bridge.cluster.relay_connection import RelayConnection

USAGE = "usage: python -m snakepit_bridge nodes [HOST:PORT]\n"
# For the start of a worker on a node, and then for its end.
NODE_S = 60.0
NOTHING = Resources({"CPU": 0, "GPU": 0})
TOOLS = "snakepit_bridge.cluster.probe_tools"


class ExitWatcher:
    """An actor that inspects the processes of its node."""

    def gone_after(self, pid: int, within_s: float) -> float | None:
        """Returns after how many seconds the process was gone; None if it was not."""
        begin = time.monotonic()
        while time.monotonic() < begin + within_s:
            if not os.path.exists(f"/proc/{pid}"):
                return time.monotonic() - begin
            time.sleep(0.01)
        return None


def run_probe(arguments: list[str]) -> int:
    """Prints a line of JSON for each node; returns 0 if all of them keep the promises."""
    if len(arguments) > 1 or any(word.startswith("-") for word in arguments):
        sys.stderr.write(USAGE)
        return exit_status.WRONG_USAGE
    with tempfile.TemporaryDirectory(prefix="snakepit-") as directory:
        try:
            gateway = Gateway(_launch(arguments[0] if arguments else "auto", directory))
        except StartFailed as failure:
            sys.stderr.write(f"{failure.code}: {failure.message}\n{failure.detail}\n")
            return exit_status.FAILED
        are_sound = asyncio.run(_probe_all(gateway))
        gateway.cluster.close()
    return exit_status.LEFT if are_sound else 1


def _launch(address: str, directory: str) -> GatewayLaunch:
    payload = {
        "protocol": {"min": OLDEST_PROTOCOL, "max": NEWEST_PROTOCOL},
        "socket": os.path.join(directory, "g"),
        "tools": [{"module": TOOLS}],
        "address": address,
        "pool": "probe",
        "resources": NOTHING.amounts,
        "startTimeoutMs": round(NODE_S * 1000),
    }
    launch = GatewayLaunch(
        {
            "snakepit": 1,
            "runId": "probe",
            "workerId": "probe",
            "incarnation": "probe-1",
            "lifeline": "-",
            "token": secrets.token_hex(32),
            "payload": payload,
        }
    )
    launch.read("probe")
    return launch


async def _probe_all(gateway: Gateway) -> bool:
    nodes = gateway.cluster.nodes()
    are_sound = True
    for node in nodes:
        try:
            results = await asyncio.wait_for(_probe(gateway, node), 2 * NODE_S)
        except StartFailed as failure:
            results = {"problem": f"{failure.code}: {failure.message}"}
        except Exception as error:  # noqa: BLE001 - Ray raises whatever it meets
            results = {"problem": f"{type(error).__name__}: {error}"}
        are_sound = are_sound and "problem" not in results
        print(
            json.dumps({"name": node.name, "address": node.address, **results}),
            flush=True,
        )
    return are_sound


async def _probe(gateway: Gateway, node: Node) -> dict[str, Any]:
    """Starts a worker that leaves a daemon, ends its connection, and looks for the daemon."""
    options = {"node": node.id}
    exit_watcher = gateway.cluster.actor(ExitWatcher, NOTHING, options)
    actor = gateway.cluster.actor(RelayActor, NOTHING, options)
    facts = await asyncio.wrap_future(actor.start.remote(gateway.setup).future())
    if "failed" in facts:
        raise StartFailed(**facts["failed"])
    relay = await RelayConnection.open(
        gateway.identity, facts, gateway.launch.keep_alive_ms
    )
    relay.send(launch=gateway.sources.mapped(gateway.launch.message))
    pid, ready = None, None
    async for message in relay.messages:
        if "failed" in message:
            raise StartFailed(**message["failed"])
        ready = message.get("ready", ready)
        words = str(message.get("output", {}).get("text", "")).split()
        if words[:1] == ["daemon"]:
            pid = int(words[1])
        if pid is not None and ready is not None:
            break
    relay.close()
    if pid is None or ready is None:
        return {"problem": "its worker ended before it was ready"}
    after = await asyncio.wrap_future(
        exit_watcher.gone_after.remote(pid, NODE_S).future()
    )
    await asyncio.wrap_future(actor.end.remote().future())
    for each in (actor, exit_watcher):
        gateway.cluster.kill(each)
    result = {"python": ready["python"], "lifeline": ready["lifeline"]}
    if after is None:
        return {**result, "problem": f"process {pid} outlived its gateway"}
    return {**result, "endedWithinMs": round(after * 1000)}
