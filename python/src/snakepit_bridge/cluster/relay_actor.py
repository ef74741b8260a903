"""The Ray actor of a worker: it reserves the resources on a node, and starts the relay there."""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Any

from snakepit_bridge.cluster.hosted_worker import bridge_command

# A process that has not ended by then may be stopped.
STOPPED_S = 1.0
# The time for Ray to end an actor whose relay has ended; without a control store, Ray
# cannot.
RAY_END_S = 3.0
REQUIRED = {
    "msgpack": "msgpack",
    "cryptography": "cryptography",
}


class RelayActor:
    """Only Ray calls it. Its answers have nothing but plain values."""

    def __init__(self) -> None:
        self._relay: subprocess.Popen[bytes] | None = None

    def start(self, setup: dict[str, object]) -> dict[str, Any]:
        """Starts the relay.

        Args:
            setup: The fields of `RelaySetup`, but for `address` and `sources`.

        Returns:
            `relay` (`host`, `port`, `certificate`) and `node` (`id`, `name`, `address`),
            or `failed` (`code`, `message`, `detail`).
        """
        import ray

        address = ray.util.get_node_ip_address()
        node = {
            "id": ray.get_runtime_context().get_node_id(),
            "name": socket.gethostname(),
            "address": address,
        }
        missing = [REQUIRED[name] for name in REQUIRED if not _is_there(name)]
        if missing:
            return {"node": node, "failed": _bridge_missing(node, missing)}
        whole = {**setup, "address": address, "sources": os.getcwd()}
        self._relay = relay = _start_relay(whole)
        assert relay.stdout is not None
        with relay.stdout:
            line = relay.stdout.readline()
        if not line:
            return {"node": node, "failed": _relay_failed(node, relay.wait())}
        threading.Thread(target=_end_with, args=(relay,), daemon=True).start()
        return {"node": node, "relay": json.loads(line)}

    def end(self) -> None:
        """Returns when no process of the worker is left on the node.

        The relay ends by itself when its connections do; this is for a keeper that is
        stopped.
        """
        while self._relay is not None:
            try:
                self._relay.wait(STOPPED_S)
            except subprocess.TimeoutExpired:
                self._relay.send_signal(signal.SIGCONT)
            else:
                return


def _end_with(relay: subprocess.Popen[bytes]) -> None:
    """Ends the actor after its relay, even if Ray does not."""
    relay.wait()
    time.sleep(RAY_END_S)
    os._exit(0)


def _start_relay(setup: dict[str, object]) -> subprocess.Popen[bytes]:
    source = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    relay = subprocess.Popen(
        bridge_command("relay"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        # Own session: Ray ends groups, and the relay ends by itself when this actor is
        # gone.
        start_new_session=True,
    )
    # It stays open for as long as the actor lives.
    assert relay.stdin is not None
    relay.stdin.write(json.dumps(setup).encode() + b"\n")
    relay.stdin.flush()
    return relay


def _is_there(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def _bridge_missing(node: dict[str, str], missing: list[str]) -> dict[str, str]:
    names = ", ".join(missing)
    listed = ", ".join(f'"{name}"' for name in missing)
    return {
        "code": "BRIDGE_MISSING",
        "message": f"node {node['name']} ({node['address']}) has no {names} for "
        f"{sys.executable}",
        "detail": f"install there: {sys.executable} -m pip install {' '.join(missing)}\n"
        f"or let Ray do it: runtimeEnv: {{ pip: [{listed}] }}",
    }


def _relay_failed(node: dict[str, str], status: int) -> dict[str, str]:
    return {
        "code": "CLUSTER_UNREACHABLE",
        "message": f"the relay on node {node['name']} ({node['address']}) ended with "
        f"status {status} before it listened",
        "detail": "its last lines are in the log of its Ray worker on that node",
    }
