"""The file in which the chunks of a stream take turns."""

from __future__ import annotations

from pathlib import Path

import pytest

from snakepit_bridge import frames
from snakepit_bridge.calls.memory.segments import StreamFile
from snakepit_bridge.calls.memory.shared_memory import SharedMemory
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode
from snakepit_bridge.values.value_not_transferable import ValueNotTransferable

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


def share(
    file: StreamFile, value: object, sent: int, arrived: int = 0
) -> tuple[bytes, frames.Attachment | None] | None:
    return file.share(lambda sink: encode(value, attachment=sink), sent, arrived)


def offset(file: StreamFile, sent: int, arrived: int) -> int:
    shared = share(file, bytes(FROM_BYTES), sent, arrived)
    assert shared is not None
    assert shared[1] is not None
    return shared[1].offset


def test_chunks_have_separate_rooms_until_the_host_has_taken_them(
    tmp_path: Path,
) -> None:
    file = stream_file(tmp_path)
    values = [bytes([number]) * 5000 for number in range(4)]
    crossed = [share(file, value, sent) for sent, value in enumerate(values)]
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
        assert share(file, b"small", sent) == (encode(b"small"), None)
    assert offset(file, 5, 0) == ROOM
    assert offset(file, 6, 1) == 0


def test_a_quarter_of_what_other_values_need_is_shared(tmp_path: Path) -> None:
    file = stream_file(tmp_path)
    least = FROM_BYTES // 4
    for size, is_shared in [(least - 1, False), (least, True)]:
        shared = share(file, bytes(size), 0)
        assert shared is not None
        assert (shared[1] is not None) == is_shared


@pytest.mark.parametrize(("limit", "size"), [(1 << 30, ROOM + 1), (5000, 5001)])
def test_a_chunk_larger_than_a_room_is_not_shared_here(
    tmp_path: Path, limit: int, size: int
) -> None:
    file = stream_file(tmp_path, limit)
    assert share(file, bytes(size), 0) is None
    assert offset(file, 1, 0) == 0


def test_without_a_file_there_is_no_room(tmp_path: Path) -> None:
    assert share(stream_file(tmp_path / "missing"), bytes(FROM_BYTES), 0) is None


def test_a_file_that_no_frame_named_is_removed(tmp_path: Path) -> None:
    file = stream_file(tmp_path)
    with pytest.raises(ValueNotTransferable):
        share(file, [bytes(FROM_BYTES), object()], 0)
    file.close()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_a_frame_named_is_left_to_the_host(tmp_path: Path) -> None:
    file = stream_file(tmp_path)
    share(file, bytes(FROM_BYTES), 0)
    file.close()
    assert len(list(tmp_path.iterdir())) == 1
