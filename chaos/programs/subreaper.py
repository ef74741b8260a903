"""Runs a command as a subreaper that outlives it: orphans come here, not to the first process."""

import ctypes
import os
import subprocess
import sys

PR_SET_CHILD_SUBREAPER = 36

if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
    sys.exit("prctl refused")
subprocess.Popen(sys.argv[1:]).wait()
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
