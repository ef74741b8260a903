"""Which calls begin after the host took some back."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from snakepit_bridge.bridge.framed_transport.frame_parser import FRAME, HEADER, framed
from snakepit_bridge.calls.memory.call_page import PAGE_SIZE, BegunMarks, CallPage


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


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("way", [begin, CallPage.begins])
@pytest.mark.parametrize(
    ("takes", "numbers", "began"),
    [
        ([], range(1, 4), [1, 2, 3]),
        ([(9, 4)], range(3, 12), [5, 10, 11]),
        # None runs.
        ([(9, 0)], range(9, 11), [10]),
        ([(9, 1)], range(7, 11), [8, 10]),
        # The host took back more before this worker came to the first ones.
        ([(9, 4), (14, 4)], range(6, 16), [10, 15]),
    ],
)
def test_calls_up_to_the_floor_do_not_begin_except_the_one_that_runs(
    path: str,
    takes: list[tuple[int, int]],
    numbers: range,
    began: list[int],
    way: Callable[[CallPage, int], bool],
    machine: str,
) -> None:
    page = CallPage(path, machine)
    for floor, distance in takes:
        take(path, floor, distance)
    assert [number for number in numbers if way(page, number)] == began
    assert page.begun == numbers[-1]


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


def test_a_barrier_that_was_interrupted_is_one_again(path: str) -> None:
    page = CallPage(path)
    page._barrier.acquire()
    assert page.begins(1)
    assert not page._barrier.locked()


# ------------------- Which of several calls at once began, as the host sees it


def word(path: str, at: int) -> int:
    with open(path, "rb") as file:
        return int.from_bytes(file.read()[8 * at : 8 * at + 8], "little")


def test_calls_begin_in_any_order_and_each_is_noted(path: str) -> None:
    marks = BegunMarks(path)
    for number in (3, 1, 510):
        marks.announce(number)
        assert marks.may_begin(number)
    assert [word(path, 1 + number) for number in (0, 1, 2, 3, 510)] == [0, 1, 0, 3, 510]


def test_a_call_of_the_same_word_that_begins_later_hides_no_higher_number(
    path: str,
) -> None:
    marks = BegunMarks(path)
    marks.announce(512)
    marks.announce(1)
    assert word(path, 2) == 512


def test_no_call_begins_after_the_end_of_the_conversation(path: str) -> None:
    marks = BegunMarks(path)
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), PAGE_SIZE) as page:
        page[0:8] = (1).to_bytes(8, "little")
    marks.announce(4)
    assert not marks.may_begin(4)
    with pytest.raises(FileExistsError):
        BegunMarks(path)
