"""Files in shared memory that values take turns in: when one is free, and what is left."""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

from snakepit_bridge import frames
from snakepit_bridge.calls.memory import segments as large_bytes
from snakepit_bridge.calls.memory.segments import (
    LARGE_BYTES,
    CallMemory,
    StreamFile,
    copy_bytes,
)
from snakepit_bridge.calls.memory.shared_memory import AttachmentInvalid, SharedMemory
from snakepit_bridge.frames import Call, Result
from snakepit_bridge.own_imports import standard
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import Attachment, encode
from snakepit_bridge.values.value_not_transferable import ValueNotTransferable

SIZE = 100_000


class Host:
    """Writes arguments as the host does, and reads results."""

    def __init__(self, directory: Path, limit_bytes: int = 1 << 30) -> None:
        self.directory = directory
        self.shared = SharedMemory(str(directory), 4096, limit_bytes)
        self._own = directory / "host"
        self._own.mkdir()
        self._writer = SharedMemory(str(self._own), 4096, 1 << 30)
        self._files: dict[str, int] = {}

    def call(self, value: object, name: str, **more: Any) -> tuple[CallMemory, Any]:
        """Returns what a call has, and its arguments."""
        write = self._writer.share
        image, attachment = write(lambda sink: encode(value, attachment=sink))
        assert attachment is not None
        content = (self._own / attachment.name).read_bytes()
        self.write(name, content)
        frame = Call(
            1, b"", "", attachment=frames.Attachment(name, len(content)), **more
        )
        memory = self.shared.call(frame)
        assert memory is not None
        return memory, decode(image, attachment=memory.reader())

    def write(self, name: str, content: bytes) -> None:
        if name not in self._files:
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
            self._files[name] = os.open(self.directory / name, flags)
        os.pwrite(self._files[name], content, 0)

    def truncate(self, name: str, size: int) -> None:
        os.ftruncate(self._files[name], size)

    def read(self, name: str, size: int) -> bytes:
        if name not in self._files:
            self._files[name] = os.open(self.directory / name, os.O_RDWR)
            os.unlink(self.directory / name)
        return os.pread(self._files[name], size, 0)


def ended(memory: CallMemory) -> bool:
    """Ends the call; returns whether its arguments are free."""
    frame = Result(1, 0, 0, b"")
    memory.end(frame)
    return frame.arguments_free


def answer(memory: CallMemory, value: object) -> tuple[str, int]:
    """Returns name and size of what the result is in."""

    def write(sink: Attachment | None) -> bytes:
        return encode(value, attachment=sink)

    _, attachment = memory.share(write)
    return ("", 0) if attachment is None else (attachment.name, attachment.size)


def open_files(directory: Path) -> list[str]:
    """Returns what this process holds open or mapped of a directory."""
    with open("/proc/self/maps") as maps:
        mapped = [line for line in maps if f" {directory}/" in line]
    descriptors = []
    for number in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink(f"/proc/self/fd/{number}")
        except FileNotFoundError:
            continue
        if path.startswith(f"{directory}/"):
            descriptors.append(path)
    return mapped + descriptors


def test_bytes_are_free_as_soon_as_they_are_decoded(tmp_path: Path) -> None:
    memory, value = Host(tmp_path).call(bytes(SIZE), "h1")
    assert value == bytes(SIZE)
    assert ended(memory)


def test_an_array_is_free_when_nothing_refers_to_it(tmp_path: Path) -> None:
    host = Host(tmp_path)
    memory, value = host.call(numpy.ones(SIZE), "h1")
    del value
    assert ended(memory)
    memory, value = host.call(numpy.ones(SIZE), "h1")
    last = value[-1:].view("uint8")
    del value
    assert not ended(memory)
    assert last.sum() > 0


def test_a_segment_that_was_given_away_lives_as_long_as_its_views(
    tmp_path: Path,
) -> None:
    host = Host(tmp_path)
    memory, value = host.call(numpy.ones(SIZE), "h1")
    assert not ended(memory)
    # The host has closed it, and so has the worker: what is left is the mapping.
    host.truncate("h1", 8 * SIZE)
    assert value.min() == value.max() == 1
    del value
    gc.collect()
    assert [line for line in open_files(tmp_path) if "rw-p" in line] == []


def test_a_segment_that_was_given_away_is_not_known_any_more(tmp_path: Path) -> None:
    host = Host(tmp_path)
    memory, _value = host.call(numpy.ones(SIZE), "h1")
    assert not ended(memory)
    with pytest.raises(AttachmentInvalid, match="cannot be opened"):
        host.call(numpy.ones(SIZE), "h1")


def test_a_result_is_written_over_arguments_that_are_free(tmp_path: Path) -> None:
    host = Host(tmp_path)
    memory, _ = host.call(bytes(SIZE), "h1")
    assert answer(memory, b"a" * SIZE) == ("h1", SIZE)
    assert host.read("h1", SIZE) == b"a" * SIZE
    assert ended(memory)


def test_a_result_is_never_written_over_arguments_that_are_in_use(
    tmp_path: Path,
) -> None:
    host = Host(tmp_path)
    memory, value = host.call(numpy.ones(SIZE), "h1")
    name, size = answer(memory, value[1000:] + 1)
    assert name == "w1"
    assert (numpy.frombuffer(host.read(name, size)) == 2).all()
    assert value.min() == value.max() == 1
    assert not ended(memory)


def test_the_segment_of_a_result_is_known_in_later_calls(tmp_path: Path) -> None:
    host = Host(tmp_path)
    memory, value = host.call(numpy.ones(SIZE), "h1")
    name, size = answer(memory, value)
    host.read(name, size)
    ended(memory)
    memory, again = host.call(numpy.zeros(SIZE), "h2", result_segment=name)
    assert answer(memory, again + 5) == (name, size)
    assert (numpy.frombuffer(host.read(name, size)) == 5).all()


def test_an_unknown_segment_is_not_written_to(tmp_path: Path) -> None:
    shared = Host(tmp_path).shared
    memory = shared.call(Call(1, b"", "", result_segment="h7"))
    assert memory is not None
    assert answer(memory, bytes(SIZE))[0] == "w1"


def test_a_segment_that_the_host_truncated_is_extended(tmp_path: Path) -> None:
    host = Host(tmp_path)
    for size in (SIZE, 3 * SIZE, SIZE // 2):
        memory, value = host.call(bytes(size), "h1")
        assert answer(memory, value + b"z") == ("h1", size + 1)
        assert host.read("h1", size + 1)[-1:] == b"z"
        assert ended(memory)
        host.truncate("h1", 5000)


def test_one_call_at_a_time_uses_a_segment(tmp_path: Path) -> None:
    host = Host(tmp_path)
    for _ in range(2):
        memory, _value = host.call(bytes(SIZE), "h1")
        with pytest.raises(AttachmentInvalid):
            host.call(bytes(SIZE), "h1")
        assert ended(memory)


def test_a_segment_that_the_host_released_is_closed(tmp_path: Path) -> None:
    host = Host(tmp_path)
    memory, _ = host.call(bytes(SIZE), "h1")
    answer(memory, bytes(SIZE))
    ended(memory)
    host.truncate("h1", 0)
    before = len(open_files(tmp_path))
    assert host.shared.call(Call(1, b"", "", segments_gone=["h1", "h9"])) is None
    # The host of this test has it open once; the worker had it open and mapped.
    assert len(open_files(tmp_path)) < before
    assert [line for line in open_files(tmp_path) if "rw-s" in line] == []


def test_a_result_that_is_not_sent_leaves_no_file(tmp_path: Path) -> None:
    memory = CallMemory(Host(tmp_path).shared)
    assert answer(memory, bytes(SIZE))[0] == "w1"
    memory.take_back()
    assert [path.name for path in tmp_path.iterdir()] == ["host"]
    assert open_files(tmp_path) == []


def test_a_result_beyond_the_limit_is_in_the_image(tmp_path: Path) -> None:
    host = Host(tmp_path, limit_bytes=2 * SIZE)
    memory, _ = host.call(bytes(SIZE), "h1")
    assert answer(memory, bytes(2 * SIZE + 1)) == ("", 0)
    assert ended(memory)


def fork() -> None:
    """Has a child that ends at once."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def test_a_fork_while_there_is_a_view_gives_the_segment_away(tmp_path: Path) -> None:
    host = Host(tmp_path)
    memory, value = host.call(numpy.ones(SIZE), "h1")
    fork()
    del value
    assert not ended(memory)


def test_a_fork_before_there_is_a_view_does_not(tmp_path: Path) -> None:
    fork()
    memory, value = Host(tmp_path).call(numpy.ones(SIZE), "h1")
    del value
    assert ended(memory)


def test_a_fork_after_the_result_lies_in_the_segment_changes_nothing(
    tmp_path: Path,
) -> None:
    memory, value = Host(tmp_path).call(numpy.ones(SIZE), "h1")
    del value
    assert answer(memory, bytes(SIZE))[0] == "h1"
    fork()
    assert ended(memory)


# ------------------------- The file in which the chunks of a stream take turns

FROM_BYTES = 4096
ROOM = 1 << 20


def stream_file(directory: Path, limit_bytes: int = 1 << 30) -> StreamFile:
    return SharedMemory(str(directory), FROM_BYTES, limit_bytes).stream_file()


class Content:
    """What was written of one chunk."""

    def __init__(self, content: bytes) -> None:
        self.size = len(content)
        self._content = content

    def copy(self, begin: int, end: int) -> bytes:
        return self._content[begin:end]

    def view(self, begin: int, end: int) -> memoryview:
        return memoryview(self._content)[begin:end]


def share_chunk(
    file: StreamFile, value: object, sent: int, arrived: int = 0
) -> tuple[bytes, frames.Attachment | None] | None:
    return file.share(lambda sink: encode(value, attachment=sink), sent, arrived)


def offset(file: StreamFile, sent: int, arrived: int) -> int:
    shared = share_chunk(file, bytes(FROM_BYTES), sent, arrived)
    assert shared is not None
    assert shared[1] is not None
    return shared[1].offset


def test_chunks_have_separate_rooms_until_the_host_has_taken_them(
    tmp_path: Path,
) -> None:
    file = stream_file(tmp_path)
    values = [bytes([number]) * 5000 for number in range(4)]
    crossed = [share_chunk(file, value, sent) for sent, value in enumerate(values)]
    (made,) = tmp_path.iterdir()
    content = made.read_bytes()
    for value, shared in zip(values, crossed, strict=True):
        assert shared is not None
        image, attachment = shared
        assert attachment is not None
        assert attachment.name == made.name
        end = attachment.offset + attachment.size
        chunk = Content(content[attachment.offset : end])
        assert decode(image, attachment=chunk) == value


def test_a_room_is_used_again_only_after_its_chunk_was_taken(
    tmp_path: Path,
) -> None:
    file = stream_file(tmp_path)
    assert [offset(file, sent, 0) for sent in range(3)] == [0, ROOM, 2 * ROOM]
    assert offset(file, 3, 2) in (0, ROOM)
    assert offset(file, 4, 2) in (0, ROOM)
    assert offset(file, 5, 2) == 3 * ROOM


def test_a_stream_within_its_credit_needs_as_many_rooms(tmp_path: Path) -> None:
    file = stream_file(tmp_path)
    used = [offset(file, sent, max(0, sent - 7)) for sent in range(100)]
    assert set(used) == {room * ROOM for room in range(8)}
    for sent in range(7, 100):
        assert len(set(used[sent - 7 : sent + 1])) == 8


def test_chunks_without_large_parts_between_them_count_as_well(tmp_path: Path) -> None:
    file = stream_file(tmp_path)
    assert offset(file, 0, 0) == 0
    for sent in range(1, 5):
        assert share_chunk(file, b"small", sent) == (encode(b"small"), None)
    assert offset(file, 5, 0) == ROOM
    assert offset(file, 6, 1) == 0


def test_a_quarter_of_what_other_values_need_is_shared(tmp_path: Path) -> None:
    file = stream_file(tmp_path)
    least = FROM_BYTES // 4
    for size, is_shared in [(least - 1, False), (least, True)]:
        shared = share_chunk(file, bytes(size), 0)
        assert shared is not None
        assert (shared[1] is not None) == is_shared


@pytest.mark.parametrize(("limit", "size"), [(1 << 30, ROOM + 1), (5000, 5001)])
def test_a_chunk_larger_than_a_room_is_not_shared_here(
    tmp_path: Path, limit: int, size: int
) -> None:
    file = stream_file(tmp_path, limit)
    assert share_chunk(file, bytes(size), 0) is None
    assert offset(file, 1, 0) == 0


def test_without_a_file_there_is_no_room(tmp_path: Path) -> None:
    assert share_chunk(stream_file(tmp_path / "missing"), bytes(FROM_BYTES), 0) is None


def test_a_file_that_no_frame_named_is_removed(tmp_path: Path) -> None:
    file = stream_file(tmp_path)
    with pytest.raises(ValueNotTransferable):
        share_chunk(file, [bytes(FROM_BYTES), object()], 0)
    file.close()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_a_frame_named_is_left_to_the_host(tmp_path: Path) -> None:
    file = stream_file(tmp_path)
    share_chunk(file, bytes(FROM_BYTES), 0)
    file.close()
    assert len(list(tmp_path.iterdir())) == 1


# -------- Bytes of more than 32 MiB, which are copied into memory of huge pages

# Neither begins or ends with a page.
BEGIN = 4096 + 64
LARGE_SIZE = LARGE_BYTES + 4099
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")

# Prints how many kB of huge pages it has: for memory of its own that asks for them, then
# before, with and after a large copy; and how large that is.
COPIES = """
import mmap, re
from pathlib import Path
from snakepit_bridge.calls.memory.segments import LARGE_BYTES, copy_bytes

def huge():
    text = Path("/proc/self/smaps_rollup").read_text()
    return int(re.search(r"^AnonHugePages:\\s+(\\d+) kB$", text, re.MULTILINE)[1])

size = LARGE_BYTES + 4099
with mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
    memory.madvise(mmap.MADV_HUGEPAGE)
    memory[:] = bytes(size)
    print(huge())
mapping = mmap.mmap(-1, size + 8192)
print(huge())
copy = copy_bytes(mapping, 64, 64 + size)
print(huge())
del copy
print(huge(), size // 1024)
"""


@pytest.fixture
def mapping() -> Iterator[mmap.mmap]:
    """A shared mapping as a segment has it, with something else in every page."""
    block = random.Random(7).randbytes(997)
    content = (block * (LARGE_SIZE // len(block) + 16))[: BEGIN + LARGE_SIZE + 5000]
    made = mmap.mmap(-1, len(content))
    made[:] = content
    yield made
    # Nothing may refer to it any more.
    made.close()


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that had no large bytes yet."""
    monkeypatch.setattr(large_bytes._Copy, "large", None)


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        (0, LARGE_BYTES - 1),
        (0, LARGE_BYTES),
        (BEGIN, BEGIN + LARGE_SIZE),
        (BEGIN + 1, BEGIN + LARGE_SIZE + 5000),
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
    assert copy_bytes(mapping, size, size + LARGE_SIZE) == b""
    assert copy_bytes(mapping, -LARGE_SIZE - 64, size) == mapping[-LARGE_SIZE - 64 :]


def test_a_copy_does_not_change_with_the_mapping(mapping: mmap.mmap) -> None:
    copy = copy_bytes(mapping, BEGIN, BEGIN + LARGE_SIZE)
    before = mapping[BEGIN : BEGIN + LARGE_SIZE]
    mapping[:] = bytes(len(mapping))
    assert copy == before


@pytest.mark.skipif(
    sys.platform != "linux"
    or not HUGE_PAGES.exists()
    or "[never]" in (HUGE_PAGES / "enabled").read_text(),
    reason="the kernel has no huge pages to give",
)
def test_a_large_copy_has_huge_pages_which_are_freed() -> None:
    """In a process of its own, as other tests decide where this one's memory is from."""
    done = subprocess.run(
        [sys.executable, "-c", COPIES], capture_output=True, text=True, check=True
    )
    asked, before, held, after, size = map(int, done.stdout.split())
    if asked == 0:
        pytest.skip("the memory of this machine has no huge page free just now")
    # No more than there are whole ones inside: not a byte of memory is added.
    assert before < held <= before + size
    assert after == before


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
            copy_bytes(mapping, BEGIN, BEGIN + LARGE_SIZE)
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
    assert copy_bytes(mapping, 64, 64 + LARGE_SIZE) == mapping[64 : 64 + LARGE_SIZE]
    assert large_bytes._Copy.large is large_bytes._slice_copy


@pytest.mark.usefixtures("fresh")
def test_small_bytes_are_sliced(mapping: mmap.mmap) -> None:
    copy_bytes(mapping, 0, 1_000_000)
    assert large_bytes._Copy.large is None
