"""`python -m snakepit_bridge gateway`: a gateway's start and end."""

from __future__ import annotations

import asyncio
import os
import sys

from snakepit_bridge.boot import exit_status
from snakepit_bridge.boot.control_channel import ControlChannel, StartFailed
from snakepit_bridge.boot.first_steps import check_versions, read_launch, run_started
from snakepit_bridge.boot.lifeline import Lifeline
from snakepit_bridge.boot.process_setup import set_up_process
from snakepit_bridge.cluster.gateway_launch import GatewayLaunch


def run_gateway(arguments: list[str]) -> int:
    """Runs a gateway; returns the exit status."""
    return run_started("gateway", "A gateway", arguments, _run)


def _run(channel: ControlChannel, run_id: str) -> int:
    launch = read_launch(channel, GatewayLaunch)
    lifeline = Lifeline(launch.lifeline)
    set_up_process()
    launch.read(run_id)
    check_versions(launch)
    try:
        from snakepit_bridge.cluster.gateway import Gateway
    except ImportError as error:
        raise StartFailed(
            "BRIDGE_MISSING",
            f"the gateway cannot be imported: {error}",
            f'{sys.executable} -m pip install --upgrade "snakepit-bridge[ray]"',
        ) from None
    gateway = Gateway(launch)

    def ready() -> None:
        identity = gateway.identity
        channel.ready_for(
            launch.newest_protocol,
            lifeline.mode,
            ray=gateway.cluster.version,
            address=gateway.cluster.address,
            tls={
                "certificate": identity.certificate,
                "key": identity.key,
                "ca": identity.authority,
            },
            located=gateway.cluster.located(launch.runs_elsewhere),
        )

    asyncio.run(gateway.run(ready))
    # Not with the interpreter's normal exit: threads of Ray may wait for a control
    # store that no longer exists.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_status.LEFT)
