"""Guards for tests: ended, with all they guard, when the test is over."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.guard_host import ARCHITECTURE, GuardHost

if sys.platform != "linux" or ARCHITECTURE is None:
    collect_ignore_glob = ["test_*"]


@pytest.fixture
def guard(tmp_path: Path) -> Iterator[Callable[[], GuardHost]]:
    """Makes guards, each with a directory of its own."""
    made: list[GuardHost] = []

    def make() -> GuardHost:
        directory = tmp_path / str(len(made))
        directory.mkdir()
        made.append(GuardHost(directory))
        return made[-1]

    yield make
    for each in made:
        each.close()
