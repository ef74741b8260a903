"""Which calls begin after the host took some back."""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path

import pytest

from snakepit_bridge.bridge.framed_transport.frame_parser import FRAME, HEADER, framed
from snakepit_bridge.calls.memory.call_page import PAGE_SIZE, CallPage


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "calls")


def take(path: str, floor: int, distance: int) -> None:
    """Does what the host does to take calls back."""
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), PAGE_SIZE) as page:
        page[8:16] = (floor * 64 + distance).to_bytes(8, "little")


def begin(page: CallPage, number: int) -> bool:
    """Does what the worker does to begin a call."""
    page.announce(number)
    return page.may_begin(number)


def test_every_call_begins_where_none_was_recalled(path: str) -> None:
    page = CallPage(path)
    assert [begin(page, number) for number in (1, 2, 3)] == [True] * 3
    assert page.begun == 3


def test_calls_up_to_the_floor_do_not_begin_except_the_one_that_runs(path: str) -> None:
    page = CallPage(path)
    take(path, floor=9, distance=4)
    began = [number for number in range(3, 12) if begin(page, number)]
    assert began == [5, 10, 11]


def test_the_call_at_the_floor_is_recalled_when_none_runs(path: str) -> None:
    page = CallPage(path)
    take(path, floor=9, distance=0)
    assert not begin(page, 9)
    assert page.begun == 9
    assert begin(page, 10)


def test_what_was_recalled_before_stays_so(path: str) -> None:
    page = CallPage(path)
    take(path, floor=9, distance=4)
    # The host took back more before this worker came to the first ones.
    take(path, floor=14, distance=4)
    assert [number for number in range(6, 16) if begin(page, number)] == [10, 15]


def test_the_one_below_the_floor_begins_when_it_is_the_one_that_runs(path: str) -> None:
    page = CallPage(path)
    take(path, floor=9, distance=1)
    assert [number for number in range(7, 11) if begin(page, number)] == [8, 10]


def test_the_page_is_a_new_file_of_its_size_that_only_its_user_opens(path: str) -> None:
    umask = os.umask(0)
    try:
        CallPage(path)
    finally:
        os.umask(umask)
    status = os.stat(path)
    assert (stat.S_IMODE(status.st_mode), status.st_size) == (0o600, PAGE_SIZE)
    with pytest.raises(FileExistsError):
        CallPage(path)


def test_where_there_is_no_memory_there_is_no_page(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space"):
        CallPage(path)


def kept(path: str) -> tuple[int, list[bytes]]:
    """Returns the round and the answers, as the host reads them."""
    data = Path(path).read_bytes()
    generation, end = divmod(int.from_bytes(data[16:24], "little"), 1 << 16)
    at, answers = 0, []
    while at < end:
        kind, size = HEADER.unpack_from(data, 24 + at)
        assert kind == FRAME
        begin = 24 + at + HEADER.size
        answers.append(data[begin : begin + size])
        at += HEADER.size + size
    assert at == end
    return generation, answers


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_a_call_begins_and_its_answer_is_kept_whatever_the_machine(
    path: str, machine: str
) -> None:
    page = CallPage(path, machine)
    assert begin(page, 1)
    assert page.keep(framed(FRAME, b"answer"))
    assert (page.begun, kept(path)) == (1, (1, [b"answer"]))


def test_answers_are_kept_in_order_until_the_page_is_full(path: str) -> None:
    page = CallPage(path)
    assert kept(path) == (0, [])
    # 4 x (5 + 1013) of 4072 bytes.
    answers = [bytes([number]) * 1013 for number in range(4)]
    assert [page.keep(framed(FRAME, answer)) for answer in answers] == [True] * 4
    assert kept(path) == (1, answers)
    # All have to leave now; until the next one comes they stay.
    assert not page.keep(framed(FRAME, b""))
    assert kept(path) == (1, answers)
    assert page.keep(framed(FRAME, b"next"))
    assert kept(path) == (2, [b"next"])


def test_an_answer_larger_than_the_page_is_not_kept(path: str) -> None:
    page = CallPage(path)
    assert not page.keep(framed(FRAME, bytes(4068)))
    assert page.keep(framed(FRAME, bytes(4067)))
    assert kept(path) == (1, [bytes(4067)])


def test_what_is_about_to_be_overwritten_is_not_shown_any_more(path: str) -> None:
    page = CallPage(path)
    memory = page._page
    shown: list[tuple[int, list[bytes]]] = []

    class Watched:
        def __setitem__(self, at: slice, data: bytes) -> None:
            shown.append(kept(path))
            memory[at] = data

    page._page = Watched()  # type: ignore[assignment]
    assert page.keep(framed(FRAME, b"first"))
    assert page.keep(framed(FRAME, b"second"))
    assert not page.keep(framed(FRAME, bytes(4096)))
    assert page.keep(framed(FRAME, b"third"))
    assert shown == [(1, []), (1, [b"first"]), (2, [])]


def test_a_page_without_stores_in_order_begins_the_same_calls(tmp_path: Path) -> None:
    for machine in ("x86_64", "aarch64"):
        page = CallPage(str(tmp_path / machine), machine)
        memoryview(page._page).cast("Q")[1] = 9 * 64 + 4
        began = [number for number in range(3, 12) if page.begins(number)]
        assert began == [5, 10, 11]
        assert page.begun == 11


def test_a_barrier_that_was_interrupted_is_one_again(path: str) -> None:
    page = CallPage(path)
    page._barrier.acquire()
    assert page.begins(1)
    assert not page._barrier.locked()
