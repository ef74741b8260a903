"""Stays until it is killed: `stays.py ROLE`."""

import signal
import sys

from exit_watcher import hold

signal.signal(signal.SIGTERM, signal.SIG_IGN)
hold(sys.argv[1])
while True:
    signal.pause()
