"""What a guard does to processes that it saw and that are others now.

Reads `{"see": [pid, ...]}` and remembers these processes as a guard does that is about
to kill them; `{"send": true}` kills them. Answers each with one line of JSON.
"""

import json
import sys

from snakepit_guard import killing
from snakepit_guard.kill_order import Step
from snakepit_guard.process_table import look

steps: list[Step] = []
for line in sys.stdin:
    order = json.loads(line)
    if "see" in order:
        processes = [look(pid) for pid in order["see"]]
        # Each as one that leads its group, and as one that is killed alone.
        steps = [
            Step(process, reach, process.pid)
            for process in processes
            if process is not None
            for reach in ("group", "process")
        ]
        print(json.dumps({"seen": len(steps)}), flush=True)
    else:
        outcomes = [killing._send(step) for step in steps]
        print(json.dumps({"gone": outcomes.count("gone")}), flush=True)
