"""A host in a process of its own, to be killed: `python -m support.host_process`.

Its one argument is JSON: the tools, what to call, and what to do before it reports
that the worker is where the test wants it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

from support.fake_host import FakeHost


def main() -> None:
    """Brings a worker into a state, reports it on stdout, and waits to be killed."""
    wanted = json.loads(sys.argv[1])
    host = FakeHost(Path(wanted["tools"]))
    host.program = wanted.get("program", host.program)
    host.spawn()
    host.launch()
    if wanted["during"] == "start":
        time.sleep(wanted["after"])
        report(host)
    if "ready" not in host.answer():
        raise SystemExit(host.stderr())
    conversation = host.converse()
    if wanted["during"] != "idle":
        conversation.begin(wanted["during"])
        host.wait_for_stderr("begun")
    if wanted.get("stopped"):
        os.kill(host.pid, signal.SIGSTOP)
    report(host)


def report(host: FakeHost) -> None:
    """Says that the worker is where it should be; then only SIGKILL helps."""
    print(json.dumps({"worker": host.pid, "directory": str(host.directory)}))
    sys.stdout.flush()
    signal.pause()


if __name__ == "__main__":
    main()
