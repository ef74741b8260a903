"""Tools that leave shared memory and semaphores of `multiprocessing`."""

import multiprocessing
import os
import signal
import time
from multiprocessing import resource_tracker, shared_memory

from snakepit_bridge import CallCancelled, tool

kept: list[object] = []


@tool
def leave() -> list[str]:
    made = shared_memory.SharedMemory(create=True, size=100)
    lock = multiprocessing.get_context("spawn").Lock()
    kept.extend((made, lock))
    return [made.name, "sem." + lock._semlock.name[1:]]


@tool
def attach(name: str) -> None:
    kept.append(shared_memory.SharedMemory(name=name))
    # Python's own would remove what was only attached to: https://bugs.python.org/issue38119
    os.kill(resource_tracker._resource_tracker._pid, signal.SIGKILL)


@tool
def hand_on() -> str:
    made = shared_memory.SharedMemory(create=True, size=100)
    resource_tracker.unregister("/" + made.name, "shared_memory")
    return made.name


@tool
def stuck() -> None:
    while True:
        try:
            time.sleep(600)
        except CallCancelled:
            continue


@tool
def leave_with_joblib() -> list[str]:
    import joblib
    import numpy

    # Where there is little shared memory, it uses the disk.
    os.environ["JOBLIB_TEMP_FOLDER"] = "/dev/shm"
    arrays = [numpy.zeros(5_000) for _ in range(2)]
    parallel = joblib.Parallel(n_jobs=2, max_nbytes=1_000)
    kept.append(parallel.__enter__())
    assert parallel(joblib.delayed(len)(each) for each in arrays) == [5_000] * 2
    pid = str(os.getpid())
    return [
        name
        for name in os.listdir("/dev/shm")
        if name.startswith((f"sem.loky-{pid}-", f"joblib_memmapping_folder_{pid}_"))
    ]
