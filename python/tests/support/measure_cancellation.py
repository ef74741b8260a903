"""How long from a cancel to the call's end: `python -m support.measure_cancellation`.

To be run in `python/tests`. Prints milliseconds from the cancel frame to the
terminal frame, both as the host sees them.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from support.fake_host import FakeHost

ROUNDS = 50
FORMS = [
    "sleeps",
    "is_busy",
    "waits_for_a_lock",
    "reads_a_socket",
    "waits_for_a_process",
    "is_stuck_between_yields",
    "sleeps_in_asyncio",
    "blocks_the_loop",
]
TOOLS = Path(__file__).parents[1] / "tools" / "stuck.py"


def measure(form: str) -> list[float]:
    """Returns the milliseconds of each round."""
    times = []
    with FakeHost(TOOLS).start() as host:
        conversation = host.converse()
        for _ in range(ROUNDS):
            options = {"stream_credit": 9} if "yields" in form else {}
            call_id = conversation.begin(form, **options)
            host.wait_for_stderr(f"begun {call_id}\n")
            # It has said so; now let it get stuck.
            time.sleep(0.02)
            began = time.perf_counter()
            conversation.cancel(call_id)
            frame = conversation.terminal(call_id)
            times.append((time.perf_counter() - began) * 1000)
            if not frame.HasField("failure"):
                raise AssertionError(frame)
    return times


def main() -> None:
    """Prints a table."""
    print(f"{'ms, ' + str(ROUNDS) + ' rounds':28}{'p50':>8}{'max':>8}")
    for form in FORMS:
        times = measure(form)
        print(f"{form:28}{statistics.median(times):8.1f}{max(times):8.1f}")


if __name__ == "__main__":
    main()
