"""Large parts of values in files: what is handed over, and what is left."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy
import pytest

from snakepit_bridge import frames
from snakepit_bridge.calls.memory.segments import ArgumentsReader
from snakepit_bridge.calls.memory.shared_memory import AttachmentInvalid, SharedMemory
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode
from snakepit_bridge.values.value_not_transferable import ValueNotTransferable

LARGE = bytes(range(256)) * 16


def memory(directory: Path, limit_bytes: int = 1 << 20) -> SharedMemory:
    return SharedMemory(str(directory), from_bytes=4096, limit_bytes=limit_bytes)


def share(
    shared: SharedMemory, value: object
) -> tuple[bytes, frames.Attachment | None]:
    return shared.share(lambda sink: encode(value, attachment=sink))


def as_the_hosts(directory: Path, attachment: frames.Attachment) -> frames.Attachment:
    """Gives a file of the worker the name that one of the host would have."""
    name = f"h{attachment.name[1:]}"
    (directory / attachment.name).rename(directory / name)
    return frames.Attachment(name, attachment.size)


def taken(shared: SharedMemory, attachment: frames.Attachment) -> ArgumentsReader:
    """Returns what reads it, in a call that it arrives with."""
    memory = shared.call(frames.Call(1, b"", "", attachment=attachment))
    reader = None if memory is None else memory.reader()
    assert reader is not None
    return reader


@pytest.mark.parametrize(
    "array",
    [
        numpy.asfortranarray(numpy.arange(5000.0).reshape(50, 100)),
        numpy.arange(5000, dtype=">i4"),
        numpy.arange(10000)[::2],
        numpy.ones((4, 0, 9000)),
        numpy.ones(5000, dtype=bool),
        numpy.ones(5000, dtype="complex128"),
    ],
    ids=["fortran", "big-endian", "strided", "empty", "bool", "complex"],
)
def test_every_layout_crosses_in_c_order(tmp_path: Path, array: Any) -> None:
    shared = memory(tmp_path)
    encoding, attachment = share(shared, array)
    if array.size == 0:
        assert attachment is None
        return
    assert attachment is not None
    reader = taken(shared, as_the_hosts(tmp_path, attachment))
    arrived = decode(encoding, attachment=reader)
    assert arrived.dtype == array.dtype.newbyteorder("=")
    numpy.testing.assert_array_equal(arrived, array)


def test_values_beyond_the_limit_are_in_the_image(tmp_path: Path) -> None:
    encoding, attachment = share(memory(tmp_path, limit_bytes=5000), [LARGE, LARGE])
    assert attachment is None
    assert decode(encoding) == [LARGE, LARGE]
    assert list(tmp_path.iterdir()) == []


def test_without_shared_memory_everything_is_in_the_image(tmp_path: Path) -> None:
    encoding, attachment = share(memory(tmp_path / "missing"), LARGE)
    assert attachment is None
    assert decode(encoding) == LARGE


def test_a_value_that_cannot_cross_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueNotTransferable, match=r"\$\[1\]"):
        share(memory(tmp_path), [LARGE, object()])
    assert list(tmp_path.iterdir()) == []


def test_only_files_of_the_host_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "w1").write_bytes(LARGE)
    (tmp_path / "h1").write_bytes(LARGE)
    (tmp_path / "h2").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "h3")
    shared = memory(tmp_path)
    refused = [("w1", 4096), ("../h1", 4096), ("h9", 4096), ("h1", 4097), ("h2", 9)]
    (tmp_path / "h4").touch()
    refused += [("h3", 0), ("h4", 0)]
    for name, size in refused:
        with pytest.raises(AttachmentInvalid):
            taken(shared, frames.Attachment(name, size))


def test_a_part_must_lie_within_the_attachment(tmp_path: Path) -> None:
    shared = memory(tmp_path)
    encoding, attachment = share(shared, LARGE)
    assert attachment is not None
    attachment.size -= 1
    short = taken(shared, as_the_hosts(tmp_path, attachment))
    for attached in (short, None):
        with pytest.raises(ValueNotTransferable, match="of an attachment of"):
            decode(encoding, attachment=attached)
