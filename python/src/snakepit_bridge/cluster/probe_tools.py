"""The tool of the probe's worker: it leaves a process that tries to outlive the
worker.
"""

from __future__ import annotations

import subprocess
import sys

from snakepit_bridge import tool

# A new session, a new parent, no environment, no inherited descriptor.
DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if (pid := os.fork()) == 0:
        os.closerange(0, 64)
        time.sleep(600)
    print("daemon", pid, flush=True)
    os._exit(0)
os.wait()
"""

subprocess.run([sys.executable, "-c", DAEMON], env={}, check=True)


@tool
def nothing() -> None:
    """Does nothing: a worker has to have a tool."""
