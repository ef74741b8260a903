"""What tests share: workers that end with the test that started them."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

from support.fake_host import FakeHost

TOOLS = Path(__file__).parent / "tools"

Host = Callable[..., FakeHost]

# How fast a machine is fails no test: on a fresh checkout the first value of a strategy
# waits for seconds until Hypothesis has built its table of characters.
settings.register_profile(
    "any_speed", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any_speed")


# Set by `npx pnpm@12 check`, see scripts/test-effort.ts.
THOROUGH = os.environ.get("SNAKEPIT_TEST_THOROUGH") == "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves tests that are marked `thorough` to `check`."""
    for item in items:
        if not THOROUGH and item.get_closest_marker("thorough"):
            item.add_marker(pytest.mark.skip(reason="runs in `check`"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a module on both transports.

    `BOTH_TRANSPORTS = True`: always. `BOTH_TRANSPORTS_IN_CHECK = True`: in `check`, and
    in `test` on the default one.
    """
    both = getattr(metafunc.module, "BOTH_TRANSPORTS", False) or (
        THOROUGH and getattr(metafunc.module, "BOTH_TRANSPORTS_IN_CHECK", False)
    )
    if both and "host" in metafunc.fixturenames:
        metafunc.parametrize("transport", ["grpc", "framed"])


@pytest.fixture
def transport() -> str:
    """What the workers of a test speak, where nothing is said about it."""
    chosen = os.environ.get("SNAKEPIT_TEST_WORKERS", "").split("+")
    return "framed" if "framed" in chosen else "grpc"


@pytest.fixture
def host(tmp_path: Path, transport: str) -> Iterator[Host]:
    """Makes hosts: `host("greeter")` for `tests/tools/greeter.py`, or with source."""
    hosts: list[FakeHost] = []

    def make(tools: str, **payload: Any) -> FakeHost:
        path = TOOLS / f"{tools}.py"
        if "\n" in tools:
            path = tmp_path / f"tools_{len(hosts)}.py"
            path.write_text(textwrap.dedent(tools), encoding="utf-8")
        fake = FakeHost(path, **{"transport": transport, **payload})
        hosts.append(fake)
        return fake

    yield make
    for fake in hosts:
        fake.close()


@pytest.fixture
def start(host: Host) -> Host:
    """Makes hosts as `host` does, and starts their worker."""

    def started(tools: str, **payload: Any) -> FakeHost:
        return host(tools, **payload).start()

    return started
