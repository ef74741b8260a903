"""Frames are understood however they are cut, and nothing else is."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snakepit_bridge.forking.protocol import (
    About,
    End,
    FrameError,
    FrameReader,
    Start,
    encode_frame,
    parse_request,
)


def as_frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


bodies = st.lists(st.binary(max_size=30), max_size=5)


@given(bodies, st.lists(st.integers(0, 400), max_size=12))
def test_bodies_arrive_whole_and_in_order_however_the_bytes_are_split(
    sent: list[bytes], cuts: list[int]
) -> None:
    data = b"".join(map(as_frame, sent))
    edges = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    reader = FrameReader()
    got = [
        body
        for begin, end in itertools.pairwise(edges)
        for body in reader.feed(data[begin:end])
    ]
    assert got == sent


def test_an_answer_has_no_byte_that_it_does_not_need() -> None:
    assert encode_frame({"a": [1, 2]}) == b'\0\0\0\x0b{"a":[1,2]}'


def test_a_length_over_the_limit_is_refused_before_its_bytes_are_kept() -> None:
    with pytest.raises(FrameError, match="over 10"):
        FrameReader(10).feed((11).to_bytes(4, "big"))
    assert FrameReader(2).feed(as_frame(b"ab")) == [b"ab"]


# The same bytes as in packages/core/test/os/fork-messages.test.ts.
START = bytes.fromhex(
    "01 01020304 0e 00000002 0000000172756e2d3100 736800 2f00 2d6300 00 413dc3bc00"
)


def test_a_start_is_read_as_bytes_for_the_system() -> None:
    start = parse_request(START)
    assert isinstance(start, Start)
    assert (start.id, start.cwd) == (0x01020304, b"/")
    assert (start.args, start.env) == ([b"-c", b""], {b"A": b"\xc3\xbc"})
    assert start.descriptors == {1, 2, 3}


def test_the_value_of_a_variable_may_have_the_sign_that_ends_its_name() -> None:
    start = parse_request(START.replace(b"A=\xc3\xbc", b"A=b="))
    assert isinstance(start, Start)
    assert start.env == {b"A": b"b="}


def test_the_other_requests_name_a_start() -> None:
    for kind, what in ((2, "go"), (3, "discard"), (4, "reap")):
        about = parse_request(bytes([kind, 0, 0, 0, 7]))
        assert isinstance(about, About)
        assert (about.what, about.id) == (what, 7)
    assert isinstance(parse_request(b"\x05"), End)


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"\0",
        b"\x06",
        b"\x05\0",
        bytes([2, 0, 0, 7]),
        bytes([2, 0, 0, 0, 0, 7]),
        START[:14],
        START[:-1],
        START + b"x",
        START + b"\0",
        START.replace(b"\x0e", b"\x1e"),
        START.replace(b"A=", b"AB"),
        START.replace(b"A=", b"=A"),
        START.replace(b"\0\0\0\2", b"\xff\xff\xff\xff"),
    ],
)
def test_a_request_that_is_wrong_in_one_thing_is_refused(wrong: bytes) -> None:
    with pytest.raises(FrameError):
        parse_request(wrong)


changes = st.lists(
    st.tuples(st.integers(0, len(START) - 1), st.integers(0, 255)), max_size=4
)


@given(changes, st.integers(0, len(START)), st.binary(max_size=8))
def test_any_bytes_are_a_request_or_a_frame_error(
    changed: list[tuple[int, int]], kept: int, added: bytes
) -> None:
    body = bytearray(START)
    for place, byte in changed:
        body[place] = byte
    try:
        request = parse_request(bytes(body[:kept]) + added)
    except FrameError:
        return
    if isinstance(request, Start):
        assert not any(b"\0" in text for text in (*request.args, *request.env))
