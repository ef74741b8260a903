"""Bytes of more than 32 MiB, which are copied into memory of huge pages."""

from __future__ import annotations

import ctypes
import mmap
import random
import re
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from snakepit_bridge.calls.memory import segments as large_bytes
from snakepit_bridge.calls.memory.segments import LARGE_BYTES, copy_bytes
from snakepit_bridge.own_imports import standard

# Neither begins or ends with a page.
BEGIN = 4096 + 64
SIZE = LARGE_BYTES + 4099
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")


@pytest.fixture
def mapping() -> Iterator[mmap.mmap]:
    """A shared mapping as a segment has it, with something else in every page."""
    block = random.Random(7).randbytes(997)
    content = (block * (SIZE // len(block) + 16))[: BEGIN + SIZE + 5000]
    made = mmap.mmap(-1, len(content))
    made[:] = content
    yield made
    # Nothing may refer to it any more.
    made.close()


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that had no large bytes yet."""
    monkeypatch.setattr(large_bytes._Copy, "large", None)


def huge_kilobytes() -> int:
    text = Path("/proc/self/smaps_rollup").read_text()
    found = re.search(r"^AnonHugePages:\s+(\d+) kB$", text, re.MULTILINE)
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        (0, LARGE_BYTES - 1),
        (0, LARGE_BYTES),
        (BEGIN, BEGIN + SIZE),
        (BEGIN + 1, BEGIN + SIZE + 5000),
        (64, 64),
        (5, 3),
    ],
)
def test_the_copy_equals_a_slice(mapping: mmap.mmap, begin: int, end: int) -> None:
    copy = copy_bytes(mapping, begin, end)
    assert type(copy) is bytes
    expected = mapping[begin:end]
    assert len(copy) == len(expected)
    assert copy == expected
    assert hash(copy) == hash(expected)


def test_a_copy_ends_where_the_mapping_ends(mapping: mmap.mmap) -> None:
    size = len(mapping)
    assert copy_bytes(mapping, 64, size + 1) == mapping[64:]
    assert copy_bytes(mapping, size, size + SIZE) == b""
    assert copy_bytes(mapping, -SIZE - 64, size) == mapping[-SIZE - 64 :]


def test_a_copy_does_not_change_with_the_mapping(mapping: mmap.mmap) -> None:
    copy = copy_bytes(mapping, BEGIN, BEGIN + SIZE)
    before = mapping[BEGIN : BEGIN + SIZE]
    mapping[:] = bytes(len(mapping))
    assert copy == before


@pytest.mark.skipif(
    sys.platform != "linux"
    or not HUGE_PAGES.exists()
    or "[never]" in (HUGE_PAGES / "enabled").read_text(),
    reason="the kernel has no huge pages to give",
)
def test_a_large_copy_has_huge_pages_which_are_freed(mapping: mmap.mmap) -> None:
    before = huge_kilobytes()
    copy = copy_bytes(mapping, BEGIN, BEGIN + SIZE)
    # No more than there are whole ones inside: not a byte of memory is added.
    assert before < huge_kilobytes() <= before + len(copy) // 1024
    del copy
    assert huge_kilobytes() == before


def test_another_thread_runs_meanwhile(mapping: mmap.mmap) -> None:
    """The interpreter's lock is let go of while the bytes are copied."""
    if large_bytes._large_copy() is None:
        pytest.skip("there is no way to")
    turns = 0
    stop = threading.Event()

    def count() -> None:
        nonlocal turns
        while not stop.wait(0.0001):
            turns += 1

    other = threading.Thread(target=count)
    usual = sys.getswitchinterval()
    other.start()
    try:
        # The copy itself releases the GIL: no switch interval would.
        sys.setswitchinterval(1000)
        enough = turns + 3
        deadline = time.monotonic() + 60
        while turns < enough and time.monotonic() < deadline:
            copy_bytes(mapping, BEGIN, BEGIN + SIZE)
        assert turns >= enough
    finally:
        sys.setswitchinterval(usual)
        stop.set()
        other.join()


def no_library(name: str | None) -> ctypes.CDLL:
    raise OSError(f"{name}: cannot open shared object file")


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    "missing", ["ctypes", "its API", "the C library", "huge pages"]
)
def test_without_the_needed_functions_bytes_are_sliced(
    mapping: mmap.mmap, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    if missing == "ctypes":
        monkeypatch.setattr(large_bytes, "ctypes", standard("no_such_module"))
    elif missing == "its API":
        monkeypatch.delattr(ctypes, "pythonapi")
    elif missing == "the C library":
        monkeypatch.setattr(ctypes, "CDLL", no_library)
    else:
        monkeypatch.delattr(mmap, "MADV_HUGEPAGE", raising=False)
    assert copy_bytes(mapping, 64, 64 + SIZE) == mapping[64 : 64 + SIZE]
    assert large_bytes._Copy.large is large_bytes._slice_copy


@pytest.mark.usefixtures("fresh")
def test_small_bytes_are_sliced(mapping: mmap.mmap) -> None:
    copy_bytes(mapping, 0, 1_000_000)
    assert large_bytes._Copy.large is None
