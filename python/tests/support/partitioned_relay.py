"""Takes the network from a relay, in a network namespace of its own; prints how long its worker lived.

Run as `unshare --net python -m support.partitioned_relay TOOLS`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from support.relay_host import RelayHost, wait_until_gone

# The least that keep-alive can have: 1 s until the first of 3 probes, each of 1 s.
KEEP_ALIVE_MS = 4000


def main(tools: Path) -> None:
    # In any other network this must not run.
    with open("/proc/net/dev") as file:
        assert file.read().count(":") == 1, "this network has more than loopback"
    assert os.readlink("/proc/self/ns/net") != os.environ["OUTER_NETWORK"]
    set_loopback("up")
    with RelayHost(tools, keep_alive_ms=KEEP_ALIVE_MS) as relay:
        relay.start().wait_for("ready")
        conversation = relay.converse()
        pids = [conversation.call("pid"), conversation.call("daemon")]
        set_loopback("down")
        begin = time.monotonic()
        wait_until_gone([*pids, relay.keeper.pid])
        print(time.monotonic() - begin, flush=True)
        set_loopback("up")


def set_loopback(state: str) -> None:
    subprocess.run(["ip", "link", "set", "lo", state], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
