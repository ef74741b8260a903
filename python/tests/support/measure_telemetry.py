"""What telemetry costs a call: `python -m support.measure_telemetry`.

To be run in `python/tests`. Five workers take turns in one run, so that what else
the machine does hits all of them. Prints calls per second with 16 in flight, as this
host sees them, microseconds of processor time that the worker uses for a call, and
milliseconds from its spawn until it is ready.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from support.conversation import Conversation
from support.fake_host import FakeHost
from support.otlp_receiver import receiver
from support.trace_context import CONTEXT

ROUNDS = 15
CALLS = 2000
IN_FLIGHT = 16
TOOLS = """
from snakepit_bridge import tool

@tool
def add(a: int, b: int) -> int:
    return a + b
"""
NOT_INSTALLED = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "opentelemetry":
            raise ModuleNotFoundError(name, name="opentelemetry")

sys.meta_path.insert(0, NotInstalled())
"""


# Of each round: calls per second, microseconds of a call, milliseconds of a start.
Figures = dict[str, list[tuple[float, float, float]]]


def round_of(conversation: Conversation) -> tuple[float, float]:
    """Returns calls per second, and the worker's microseconds per call."""
    before = cpu_time_us(conversation)
    began = time.perf_counter()
    for n in range(CALLS + IN_FLIGHT):
        if n >= IN_FLIGHT and not conversation.receive().HasField("result"):
            raise AssertionError("a call failed")
        if n < CALLS:
            conversation.begin("add", [n, 1], trace_context=CONTEXT)
    seconds = time.perf_counter() - began
    return CALLS / seconds, (cpu_time_us(conversation) - before) / CALLS


def start_of(tools: Path, environment: dict[str, str]) -> float:
    """Returns the milliseconds until a worker is ready."""
    with FakeHost(tools) as host:
        host.environment.update(environment)
        began = time.perf_counter()
        host.start()
        return (time.perf_counter() - began) * 1000


def cpu_time_us(conversation: Conversation) -> int:
    """Returns the processor time that the worker has used."""
    answer: pb.PingResponse = conversation.unary(
        "Ping", pb.PingRequest(), pb.PingResponse.FromString
    )
    return answer.cpu_time_us


def main() -> None:
    """Prints a table."""
    with tempfile.TemporaryDirectory() as directory, receiver() as otlp:
        tools = Path(directory) / "tools.py"
        tools.write_text(TOOLS, encoding="utf-8")
        (Path(directory) / "sitecustomize.py").write_text(NOT_INSTALLED)
        forms: dict[str, dict[str, str]] = {
            "not installed": {"PYTHONPATH": directory},
            "not installed, again": {"PYTHONPATH": directory},
            "opentelemetry-api alone": {},
            "SDK, not sampled": {
                "OTEL_EXPORTER_OTLP_ENDPOINT": otlp.endpoint,
                "OTEL_TRACES_SAMPLER": "always_off",
            },
            "SDK, batches over OTLP": {"OTEL_EXPORTER_OTLP_ENDPOINT": otlp.endpoint},
        }
        hosts = {form: FakeHost(tools) for form in forms}
        figures: Figures = {form: [] for form in forms}
        try:
            for form, host in hosts.items():
                host.environment.update(forms[form])
                host.start()
            talks = {form: host.converse() for form, host in hosts.items()}
            for talk in talks.values():
                round_of(talk)
            for n in range(ROUNDS):
                # Each time another one begins: the first is not like the last.
                for form in rotated(list(forms), n):
                    start = start_of(tools, forms[form])
                    figures[form].append((*round_of(talks[form]), start))
        finally:
            for host in hosts.values():
                host.close()
    report(figures)


def rotated(forms: list[str], n: int) -> list[str]:
    """Returns the forms, beginning with another one."""
    n %= len(forms)
    return forms[n:] + forms[:n]


def report(figures: Figures) -> None:
    """Prints medians, and each round's rate against that of the first form."""
    print(f"{ROUNDS} rounds of {CALLS} calls, {IN_FLIGHT} in flight; medians")
    print(f"{'':28}{'calls/s':>10}{'ratio':>8}{'µs of CPU':>12}{'ms to start':>13}")
    first = next(iter(figures.values()))
    for form, rounds in figures.items():
        rates, cpu, starts = zip(*rounds, strict=True)
        ratio = statistics.median(
            rate / other[0] for rate, other in zip(rates, first, strict=True)
        )
        print(
            f"{form:28}{statistics.median(rates):10.0f}{ratio:8.3f}"
            f"{statistics.median(cpu):12.0f}{statistics.median(starts):13.0f}"
        )


if __name__ == "__main__":
    main()
