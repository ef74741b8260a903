"""Files in shared memory that values take turns in: when one is free, and what is left."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import numpy
import pytest

from snakepit_bridge import frames
from snakepit_bridge.calls.memory.segments import CallMemory
from snakepit_bridge.calls.memory.shared_memory import AttachmentInvalid, SharedMemory
from snakepit_bridge.frames import Call, Result
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import Attachment, encode

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


def test_a_fork_while_there_is_a_view_gives_the_segment_away(tmp_path: Path) -> None:
    host = Host(tmp_path)
    memory, value = host.call(numpy.ones(SIZE), "h1")
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    del value
    assert not ended(memory)


def test_a_fork_before_there_is_a_view_does_not(tmp_path: Path) -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    memory, value = Host(tmp_path).call(numpy.ones(SIZE), "h1")
    del value
    assert ended(memory)


def test_a_fork_after_the_result_lies_in_the_segment_changes_nothing(
    tmp_path: Path,
) -> None:
    memory, value = Host(tmp_path).call(numpy.ones(SIZE), "h1")
    del value
    assert answer(memory, bytes(SIZE))[0] == "h1"
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    assert ended(memory)
