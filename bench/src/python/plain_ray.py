"""Plain Ray, as one calls it from Python: three actors, one on each node. Prints its figures as JSON."""

import json
import os
import sys
import time

import numpy as np
import ray

WARM_UP_S, MEASURE_S = (int(word) / 1000 for word in sys.argv[1:3])
ACTORS = 3
SMALL_TEXT = "x" * 100
ITEM = bytes(100)
ARRAY = np.ones(1_000_000)


@ray.remote(num_cpus=1)
class Echo:
    def echo(self, value):
        return value

    def produce(self, items):
        for _ in range(items):
            yield ITEM

    def node(self):
        return ray.util.get_node_ip_address()


def main():
    address = os.environ["RAY_ADDRESS"]
    ray.init(address=address, logging_level="ERROR", log_to_driver=False)
    actors = [
        Echo.options(scheduling_strategy="SPREAD").remote() for _ in range(ACTORS)
    ]
    nodes = ray.get([actor.node.remote() for actor in actors])
    # Not on the node of this program: a call crosses to another one.
    far = next(
        actor
        for actor, node in zip(actors, nodes, strict=True)
        if not address.startswith(f"{node}:")
    )
    one_at_a_time(far, WARM_UP_S)
    times = sorted(one_at_a_time(far, MEASURE_S))
    three_at_a_time(actors, WARM_UP_S)
    calls_per_s = three_at_a_time(actors, MEASURE_S)
    items = int(streamed(far, 1_000) * MEASURE_S)
    return {
        "p50_us": times[len(times) // 2] * 1e6,
        "p99_us": times[int(len(times) * 0.99)] * 1e6,
        "calls_per_s": calls_per_s,
        "items_per_s": streamed(far, items),
        **echoed_arrays(far, MEASURE_S),
    }


def one_at_a_time(actor, seconds):
    times = []
    begin = now = time.perf_counter()
    while now < begin + seconds:
        if ray.get(actor.echo.remote(SMALL_TEXT)) != SMALL_TEXT:
            sys.exit("the echo is not what was sent")
        before, now = now, time.perf_counter()
        times.append(now - before)
    return times


def three_at_a_time(actors, seconds):
    begin = time.perf_counter()
    running = {actor.echo.remote(SMALL_TEXT): actor for actor in actors}
    answered = 0
    while running:
        [done], _ = ray.wait(list(running), num_returns=1)
        actor = running.pop(done)
        ray.get(done)
        answered += 1
        if time.perf_counter() < begin + seconds:
            running[actor.echo.remote(SMALL_TEXT)] = actor
    return answered / (time.perf_counter() - begin)


def streamed(actor, items):
    begin = time.perf_counter()
    chunks = actor.produce.options(num_returns="streaming").remote(items)
    got = sum(len(ray.get(chunk)) for chunk in chunks)
    if got != items * len(ITEM):
        sys.exit(f"{got} of {items * len(ITEM)} bytes came")
    return items / (time.perf_counter() - begin)


def echoed_arrays(actor, seconds):
    """MB a second, both ways added, and processor time."""
    cpu_begin = cpu_seconds_of_all()
    begin = time.perf_counter()
    echoes = 0
    while time.perf_counter() < begin + seconds or echoes < 3:
        if ray.get(actor.echo.remote(ARRAY)).shape != ARRAY.shape:
            sys.exit("the echo is not what was sent")
        echoes += 1
    seconds = time.perf_counter() - begin
    return {
        "array_mb_s": echoes * 2 * ARRAY.nbytes / 1e6 / seconds,
        "array_cpu_ms": (cpu_seconds_of_all() - cpu_begin) * 1000 / echoes,
    }


def cpu_seconds_of_all():
    """Processor time of all processes that this one sees."""
    ticks = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                text = file.read()
        except OSError:
            continue  # It has ended.
        fields = text[text.rindex(")") + 2 :].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


print(json.dumps(main()))
