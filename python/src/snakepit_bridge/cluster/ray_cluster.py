"""The cluster, through Ray's API: everything that the gateway uses of Ray."""

from __future__ import annotations

import difflib
import os
import socket
from typing import Any, NamedTuple

from snakepit_bridge.boot.control_channel import StartFailed
from snakepit_bridge.cluster.gateway_launch import GatewayLaunch, Resources


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
    """Returns `runId`, `location` and `owner` of the runs that have or had a driver.

    A gateway ends with the host of its run.

    Args:
        runs: That are asked for.
        drivers: The oldest first.
        names: Of the living nodes, by address.
    """
    located_runs: list[dict[str, object]] = []
    for run in runs:
        own = [each for each in drivers if each.namespace == namespace_of(run)]
        if not own:
            continue
        living = [each for each in own if not each.is_dead and each.address in names]
        address = (living or own)[-1].address
        located_runs.append(
            {
                "runId": run,
                "location": {"name": names.get(address, address), "address": address},
                "owner": "alive" if living else "gone",
            }
        )
    return located_runs


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


# Ray itself waits for a minute.
CONNECT_S = 10.0
# By default Ray kills the children of a worker that ends, and only those: the keeper, which
# ends the rest.
SETTINGS = {"RAY_kill_child_processes_on_worker_exit": "false"}
INSTALL = 'install "snakepit-bridge[ray]" with the release of Ray that the cluster runs'


class RayCluster:
    """A connection to the cluster as its driver."""

    def __init__(self, launch: GatewayLaunch, archive: str) -> None:
        """Connects.

        Args:
            launch: Of the gateway.
            archive: The sources that every node gets.

        Raises:
            StartFailed: Ray is missing here, or the cluster cannot be reached or used.
        """
        self._ray = ray = _import_ray()
        self.version: str = ray.__version__
        self.address = _find(launch.address)
        options = launch.runtime_env
        if "working_dir" in options:
            raise StartFailed(
                "LAUNCH_INVALID",
                "runtimeEnv.working_dir is what this adapter itself sends: the directories "
                "of the tools. Use toolPath for more of them.",
            )
        refuse_unknown(options, ray)
        runtime_env = {
            **{name: value for name, value in options.items() if name != "excludes"},
            "working_dir": archive,
            "env_vars": {**options.get("env_vars", {}), **SETTINGS},
        }
        try:
            ray.init(
                address=self.address,
                namespace=namespace_of(launch.run_id),
                runtime_env=runtime_env,
                logging_level="ERROR",
                log_to_driver=False,
            )
        except Exception as error:  # noqa: BLE001 - Ray raises whatever it meets
            raise refusal(error, self.address) from None

    def nodes(self) -> list[Node]:
        """Returns the living nodes."""
        free = self._ray._private.state.available_resources_per_node()
        return [
            Node(
                each["NodeID"],
                each["NodeManagerHostname"],
                each["NodeManagerAddress"],
                each["Resources"],
                free.get(each["NodeID"], {}),
            )
            for each in self._ray.nodes()
            if each["Alive"]
        ]

    def located(self, runs: list[str]) -> list[dict[str, object]]:
        """Returns `runId`, `location` and `owner` of the runs that the cluster knows.

        A gateway is a driver in a namespace of its run, and ends with the run's host.
        """
        if not runs:
            return []
        names = {
            each["NodeManagerAddress"]: each["NodeManagerHostname"]
            for each in self._ray.nodes()
            if each["Alive"]
        }
        return located(runs, self._drivers(), names)

    def _drivers(self) -> list[Driver]:
        from ray.core.generated import gcs_pb2

        # `job_table`, which says the same without namespaces, does so.
        state = self._ray._private.state.state
        table = state._connect_and_get_accessor().get_job_table(
            skip_submission_job_info_field=True, skip_is_running_tasks_field=True
        )
        jobs = [gcs_pb2.JobTableData.FromString(entry) for entry in table]
        return [
            Driver(job.config.ray_namespace, job.driver_address.ip_address, job.is_dead)
            for job in jobs
        ]

    def actor(self, kind: type, resources: Resources, placement: object) -> Any:
        """Asks for an actor, which Ray starts when a node has the resources."""
        return (
            self._ray.remote(kind)
            .options(
                **resources.options(),
                scheduling_strategy=self._strategy(placement),
                max_restarts=0,
                max_concurrency=4,
            )
            .remote()
        )

    def kill(self, actor: Any) -> None:
        """Kills the process of an actor."""
        self._ray.kill(actor, no_restart=True)

    def close(self) -> None:
        """Disconnects; Ray kills what this driver has started."""
        self._ray.shutdown()

    def _strategy(self, placement: object) -> object:
        if not isinstance(placement, dict):
            return "DEFAULT" if placement == "pack" else "SPREAD"
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        wanted = placement.get("node")
        nodes = self.nodes()
        for node in nodes:
            if wanted in (node.id, node.address, node.name):
                return NodeAffinitySchedulingStrategy(node_id=node.id, soft=False)
        raise StartFailed(
            "RESOURCES_UNAVAILABLE",
            f"placement: the cluster has no living node {wanted}",
            "\n".join(f"{node.name} ({node.address}), id {node.id}" for node in nodes),
        )


def _import_ray() -> Any:
    # Read at the import. Below `uv run`, Ray would also start workers with it.
    os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"
    try:
        import ray
    except ImportError as error:
        raise StartFailed(
            "BRIDGE_MISSING", f"Ray cannot be imported: {error}", INSTALL
        ) from None
    return ray


def refuse_unknown(names: dict[str, Any], ray: Any) -> None:
    """Ray itself ignores a field that it does not know."""
    known = {*ray.runtime_env.RuntimeEnv.known_fields, "excludes"}
    for name in sorted(names.keys() - known):
        near = difflib.get_close_matches(name, known, n=1)
        raise StartFailed(
            "LAUNCH_INVALID",
            f"runtimeEnv: Ray {ray.__version__} knows no field {name!r}",
            f"did you mean {near[0]!r}?"
            if near
            else f"it knows {', '.join(sorted(known))}",
        )


def _find(address: str) -> str:
    """Returns the address of the cluster, which listens there."""
    from ray._private import services

    try:
        nodes = services.canonicalize_bootstrap_address(address)
        host, port = nodes.rsplit(":", 1)
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except Exception as error:  # noqa: BLE001 - so many ways to have no cluster
        raise _unreachable(address, f"{type(error).__name__}: {error}") from None
    check_token(nodes)
    if not services.find_node_ids():
        raise _unreachable(
            nodes,
            "this machine is not a node of the cluster, and the gateway must run on one",
            f"join it here, with `ray start --address={nodes} --num-cpus=0` if no worker "
            "shall run on this machine",
        )
    return str(nodes)


def check_token(address: str) -> None:
    """Ray itself tries for as long as it waits for a cluster."""
    from ray._raylet import GcsClient

    try:
        GcsClient(address=address)
    except Exception as error:  # noqa: BLE001 - Ray raises whatever it meets
        if type(error).__name__ == "AuthenticationError":
            raise token_refused(address) from None


def token_refused(address: str) -> StartFailed:
    """Returns our own text about a cluster that does not accept this program's token."""
    mode = os.environ.get("RAY_AUTH_MODE") or "not set"
    token = next(
        (
            name
            for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
            if os.environ.get(name)
        ),
        "~/.ray/auth_token",
    )
    which = f"the token of {token} is wrong" if mode == "token" else "no token was sent"
    return _unreachable(
        address,
        f"it asks for a token, and {which} (RAY_AUTH_MODE is {mode})",
        "set RAY_AUTH_MODE=token, and the cluster's own token in RAY_AUTH_TOKEN, "
        "RAY_AUTH_TOKEN_PATH or ~/.ray/auth_token, in the environment of the program",
    )


def _unreachable(address: str, reason: str, detail: str = "") -> StartFailed:
    return StartFailed(
        "CLUSTER_UNREACHABLE",
        f"the Ray cluster at {address} cannot be reached: {reason}",
        detail or "start one with `ray start --head`, or give its address: HOST:PORT",
    )


def refusal(error: Exception, address: str) -> StartFailed:
    """Returns our own text about why Ray did not connect."""
    words = f"{type(error).__name__}: {error}"
    if "ersion mismatch" in words:
        return StartFailed(
            "VERSION_MISMATCH",
            f"the cluster at {address} runs other releases than this machine: {error}",
            INSTALL + " and the same Python",
        )
    mode = os.environ.get("RAY_AUTH_MODE") or "not set"
    return _unreachable(
        address,
        words,
        "Something listens there. If the cluster asks for a token, this program needs "
        "RAY_AUTH_MODE=token and the cluster's own token in ~/.ray/auth_token or "
        f"RAY_AUTH_TOKEN_PATH; RAY_AUTH_MODE is {mode} here.",
    )


def start_failure(error: Exception) -> StartFailed:
    """Returns our own text about why an actor did not start."""
    kind = type(error).__name__
    if kind == "RuntimeEnvSetupError":
        return StartFailed(
            "RUNTIME_ENV_FAILED",
            "Ray could not make the environment of runtimeEnv on a node",
            str(error),
        )
    return StartFailed(
        "CLUSTER_UNREACHABLE",
        f"Ray could not start the worker's actor: {kind}",
        str(error),
    )
