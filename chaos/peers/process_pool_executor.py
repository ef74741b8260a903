"""ProcessPoolExecutor of Python's standard library: two workers."""

from concurrent.futures import ProcessPoolExecutor

from busy import hold_and_work

if __name__ == "__main__":
    pool = ProcessPoolExecutor(2)
    for work in [pool.submit(hold_and_work) for _ in range(2)]:
        work.result()
