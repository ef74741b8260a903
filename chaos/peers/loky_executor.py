"""The reusable executor of loky: two workers."""

from busy import hold_and_work
from loky import get_reusable_executor

if __name__ == "__main__":
    pool = get_reusable_executor(max_workers=2)
    for work in [pool.submit(hold_and_work) for _ in range(2)]:
        work.result()
