"""For python-shell: one JSON value a line, answered with the same."""

import json
import sys

for line in sys.stdin:
    sys.stdout.write(json.dumps(json.loads(line)) + "\n")
    sys.stdout.flush()
