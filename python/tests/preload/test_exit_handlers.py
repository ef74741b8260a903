"""What runs when a forked worker leaves: its own handlers, and none of its parent's."""

from __future__ import annotations

import subprocess
import sys
from os.path import exists

FORKED = """
import atexit, logging, multiprocessing, os, signal, sys, tempfile, time, weakref
from logging.handlers import MemoryHandler
from snakepit_bridge.preload import forked_worker

class Held: pass

def say(*words):
    print(*words, flush=True)

# As imports of tools do.
directory, cache = tempfile.TemporaryDirectory(), {}
held, cached = Held(), Held()
cache[id(cached)] = 1
atexit.register(say, "the parent's handler")
weakref.finalize(held, say, "the parent's finalizer")
weakref.finalize(cached, cache.pop, id(cached))
context = multiprocessing.get_context("fork")
helper = context.Process(target=time.sleep, args=(600,), daemon=True)
helper.start()

pid = os.fork()
if pid == 0:
    forked_worker._forget_exit_handlers()
    # As its calls do.
    path, directory = directory.name, None
    say("directory", os.path.isdir(path))
    del cached
    say("cache", cache)
    own = Held()
    atexit.register(say, "its own handler")
    weakref.finalize(own, say, "its own finalizer")
    mine = context.Process(target=time.sleep, args=(600,), daemon=True)
    mine.start()
    own_directory = tempfile.TemporaryDirectory()
    atexit.register(lambda: say("child", mine.pid, own_directory.name))
    buffered = MemoryHandler(100, target=logging.StreamHandler(sys.stdout))
    buffered.handle(logging.LogRecord("", 20, "", 0, "its own record", (), None))
    forked_worker._leave(0)
os.waitpid(pid, 0)
say("directory", os.path.isdir(directory.name))
say("helper", helper.is_alive())
"""


def test_a_forked_worker_runs_its_own_exit_handlers_and_not_those_of_its_parent() -> (
    None
):
    ran = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, check=False
    )
    assert ran.stderr == ""
    lines = ran.stdout.splitlines()
    (child,) = (line for line in lines if line.startswith("child "))
    _, pid, own_directory = child.split()
    lines.remove(child)
    assert lines == [
        "directory True",
        "cache {}",
        "its own finalizer",
        "its own handler",
        "its own record",
        "directory True",
        "helper True",
        # And then those of the parent, when it leaves.
        "the parent's handler",
        "the parent's finalizer",
    ]
    assert not exists(own_directory)
    assert not exists(f"/proc/{pid}")
