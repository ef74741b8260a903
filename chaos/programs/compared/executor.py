"""A host with an executor of Python's: `executor.py process_pool|loky`, two workers."""

import sys

from busy import hold_and_work

if __name__ == "__main__":
    if sys.argv[1] == "loky":
        from loky import get_reusable_executor

        pool = get_reusable_executor(max_workers=2)
    else:
        from concurrent.futures import ProcessPoolExecutor

        pool = ProcessPoolExecutor(2)
    for work in [pool.submit(hold_and_work) for _ in range(2)]:
        work.result()
