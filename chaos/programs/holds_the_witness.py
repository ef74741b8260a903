"""Stays until it is killed: `holds_the_witness.py ROLE`."""

import signal
import sys

from witness import hold

signal.signal(signal.SIGTERM, signal.SIG_IGN)
hold(sys.argv[1])
while True:
    signal.pause()
