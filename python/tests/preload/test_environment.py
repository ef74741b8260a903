"""The environment as it lies in memory."""

from __future__ import annotations

from snakepit_bridge.preload.forked_worker import environment_block

ENV = {b"A": b"1", b"SNAKEPIT_WORKER": b"w", b"LONG": b"x" * 40, b"SNAKEPIT_RUN": b"r"}
FIRST = b"SNAKEPIT_RUN=r\0SNAKEPIT_WORKER=w\0"


def test_the_markers_come_first_and_the_rest_is_padded() -> None:
    whole = environment_block(ENV, 200)
    assert whole.startswith(FIRST + b"A=1\0LONG=")
    assert len(whole) == 200
    assert whole.rstrip(b"\0").endswith(b"x" * 40)


def test_a_variable_without_room_is_left_out_and_not_cut() -> None:
    assert environment_block(ENV, len(FIRST) + 10) == FIRST + b"A=1\0" + b"\0" * 6
    assert environment_block(ENV, 3) == b"\0\0\0"
