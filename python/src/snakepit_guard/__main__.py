"""`python3 -I -S -E .../snakepit_guard ARGUMENTS`: the program that a host starts."""

from __future__ import annotations

import os
import sys

# An isolated interpreter has the folder that it was given on its path, which is this
# package itself.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from snakepit_guard.program import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
