"""A worker as anybody writes one: works, and looks at nothing else. `busy.py`, or `hold_and_work()`."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from exit_watcher import hold


def hold_and_work() -> None:
    hold("worker")
    while True:
        pass


if __name__ == "__main__":
    hold_and_work()
