"""What a preloaded parent imports that imports nothing of the user's."""

from __future__ import annotations

import json
import subprocess
import sys

PRELOADS = """
import json, os, sys, threading
from types import SimpleNamespace
from snakepit_bridge.preload.program import preload

opened = set(os.listdir("/proc/self/fd"))
launch = SimpleNamespace(
    transport="framed", log_level=20, tool_path=[], modules=[], tools=[],
    imports_tools=False,
)
preload(launch)
facts = {
    "threads": len(os.listdir("/proc/self/task")),
    "opened": sorted(set(os.listdir("/proc/self/fd")) - opened),
}
before = set(sys.modules)
import numpy
facts["left"] = sorted(
    name
    for name in set(sys.modules) - before
    if name.partition(".")[0] in sys.stdlib_module_names
)
print(json.dumps(facts))
"""


def test_a_library_finds_what_it_needs_of_the_standard_library_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PRELOADS], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    facts = json.loads(done.stdout)
    assert facts == {"threads": 1, "opened": [], "left": []}
