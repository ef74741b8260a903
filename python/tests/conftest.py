"""What tests share: workers that end with the test that started them."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from support.effort import THOROUGH
from support.fake_host import FakeHost, SharedHost

from snakepit_bridge.values import own_types
from snakepit_bridge.values.encode import FORMS

TOOLS = Path(__file__).parent / "tools"

Host = Callable[..., FakeHost]


def pytest_configure(config: pytest.Config) -> None:
    """Gives all tests one temporary directory, and removes it after the last.

    Processes that tests kill leave theirs. The directories of `tmp_path` stay where pytest
    keeps the last three.
    """
    if hasattr(config, "workerinput"):
        return  # The runner of this worker has made it.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    # A short name, for there are sockets in it.
    directory = tempfile.mkdtemp(prefix="sp-")
    os.environ["TMPDIR"] = directory
    # It remembers the one before.
    tempfile.tempdir = None
    config.add_cleanup(lambda: shutil.rmtree(directory, ignore_errors=True))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves tests that are marked `thorough` to `check`."""
    for item in items:
        if not THOROUGH and item.get_closest_marker("thorough"):
            item.add_marker(pytest.mark.skip(reason="runs in `check`"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a module on both transports.

    `BOTH_TRANSPORTS = True`: always. `BOTH_TRANSPORTS_IN_CHECK = True`: in `check`, and
    in `test` on the default one. A test that names its transports itself keeps them.
    """
    both = getattr(metafunc.module, "BOTH_TRANSPORTS", False) or (
        THOROUGH and getattr(metafunc.module, "BOTH_TRANSPORTS_IN_CHECK", False)
    )
    named = any(
        "transport" in str(mark.args[0])
        for mark in metafunc.definition.iter_markers("parametrize")
    )
    if both and not named and "transport" in metafunc.fixturenames:
        metafunc.parametrize("transport", ["grpc", "framed"])


@pytest.fixture
def transport() -> str:
    """What the workers of a test speak, where nothing is said about it: what users get who
    say nothing about it.
    """
    return "framed"


def tools_path(tools: str, directory: Path, number: int) -> Path:
    """Returns the file of tools of a name, or writes one of source."""
    if "\n" not in tools:
        return TOOLS / f"{tools}.py"
    path = directory / f"tools_{number}.py"
    path.write_text(textwrap.dedent(tools), encoding="utf-8")
    return path


@pytest.fixture
def host(tmp_path: Path, transport: str) -> Iterator[Host]:
    """Makes hosts: `host("greeter")` for `tests/tools/greeter.py`, or with source."""
    hosts: list[FakeHost] = []

    def make(tools: str, **payload: Any) -> FakeHost:
        path = tools_path(tools, tmp_path, len(hosts))
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


@pytest.fixture
def unregistered() -> Iterator[None]:
    """Forgets the encoders and decoders that a test registers."""
    # Other modules register at their import.
    registries: list[dict[Any, Any]] = [own_types.ENCODERS, own_types.DECODERS, FORMS]
    before = [dict(each) for each in registries]
    yield
    for registry, kept in zip(registries, before, strict=True):
        registry.clear()
        registry.update(kept)


@pytest.fixture(scope="module")
def shared_hosts() -> Iterator[dict[str, SharedHost]]:
    """Those that tests of a module share."""
    hosts: dict[str, SharedHost] = {}
    yield hosts
    for fake in hosts.values():
        fake.close()


@pytest.fixture
def shared(
    shared_hosts: dict[str, SharedHost], tmp_path_factory: Any, transport: str
) -> Iterator[Host]:
    """Makes hosts as `start` does; all tests of a module that ask for the same have one.

    For tests that are not about the start, the end or the state of a worker.
    """
    used: list[SharedHost] = []

    def find(tools: str, **payload: Any) -> FakeHost:
        key = repr((tools, transport, payload))
        if key not in shared_hosts:
            path = tools_path(tools, tmp_path_factory.mktemp("tools"), 0)
            fake = SharedHost(path, **{"transport": transport, **payload})
            shared_hosts[key] = fake
            fake.start()
        used.append(shared_hosts[key])
        return used[-1]

    yield find
    for fake in used:
        fake.converse().rest()
