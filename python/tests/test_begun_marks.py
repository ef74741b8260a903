"""Which of several calls at once began, as the host sees it."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from snakepit_bridge.calls.memory.call_page import PAGE_SIZE, BegunMarks


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "calls")


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
