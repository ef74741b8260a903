"""Frames are understood however they are cut, and nothing else is."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snakepit_guard.frames import FrameError, FrameReader, encode_frame
from snakepit_guard.requests import About, End, Start, parse_request

scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
messages = st.lists(
    st.dictionaries(st.text(max_size=8), values, max_size=4), max_size=5
)


@given(messages, st.lists(st.integers(0, 400), max_size=12))
def test_messages_arrive_whole_and_in_order_however_the_bytes_are_split(
    sent: list[dict[str, object]], cuts: list[int]
) -> None:
    data = b"".join(map(encode_frame, sent))
    edges = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    reader = FrameReader()
    got = [
        message
        for begin, end in itertools.pairwise(edges)
        for message in reader.feed(data[begin:end])
    ]
    assert got == sent


def test_a_frame_has_no_byte_that_it_does_not_need() -> None:
    assert encode_frame({"a": [1, 2]}) == b'\0\0\0\x0b{"a":[1,2]}'


@given(st.binary(max_size=200), st.integers(0, 100))
def test_any_bytes_are_messages_or_a_frame_error(data: bytes, limit: int) -> None:
    try:
        for message in FrameReader(limit).feed(data):
            assert len(json.dumps(message)) > 0
    except FrameError:
        pass


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"1", b"{", b"\xff", b'{"a":1}x', b"[" * 100_000]
)
def test_bytes_that_are_not_a_json_object_are_refused(body: bytes) -> None:
    with pytest.raises(FrameError):
        FrameReader().feed(len(body).to_bytes(4, "big") + body)


def test_a_length_over_the_limit_is_refused_before_its_bytes_are_kept() -> None:
    with pytest.raises(FrameError, match="over 10"):
        FrameReader(10).feed((11).to_bytes(4, "big"))
    assert FrameReader(2).feed(encode_frame({})) == [{}]


START: dict[str, Any] = {
    "type": "start",
    "id": 1,
    "label": "w1",
    "executable": "true",
    "args": ["a"],
    "env": {"A": "b"},
    "cwd": "/",
    "descriptors": ["stdout", "control"],
}


def test_a_start_is_read_as_bytes_for_the_system() -> None:
    start = parse_request({**START, "args": ["ü", ""]})
    assert isinstance(start, Start)
    assert (start.id, start.label, start.executable, start.cwd) == (
        1,
        "w1",
        b"true",
        b"/",
    )
    assert (start.args, start.env) == ([b"\xc3\xbc", b""], {b"A": b"b"})
    assert start.descriptors == {1, 3}


def test_the_other_requests_name_a_start() -> None:
    for what in ("go", "discard", "reap"):
        about = parse_request({"type": what, "id": 7})
        assert isinstance(about, About)
        assert (about.what, about.id) == (what, 7)
    assert isinstance(parse_request({"type": "end"}), End)


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "fly"},
        {"type": None},
        {"id": -1},
        {"id": 2**32},
        {"id": True},
        {"id": "1"},
        {"label": 1},
        {"executable": None},
        {"executable": "a\0b"},
        {"executable": "\ud800"},
        {"args": "a"},
        {"args": [1]},
        {"env": []},
        {"env": {"": "x"}},
        {"env": {"A=B": "x"}},
        {"env": {"A": None}},
        {"cwd": None},
        {"descriptors": ["stdout", "7"]},
        {"descriptors": [1]},
        {"descriptors": None},
    ],
)
def test_a_start_that_is_wrong_in_one_thing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(FrameError):
        parse_request({**START, **wrong})


@given(st.dictionaries(st.sampled_from([*START, "other"]), values))
def test_any_message_is_a_request_or_a_frame_error(fields: dict[str, object]) -> None:
    try:
        assert isinstance(parse_request({**START, **fields}), Start | About | End)
    except FrameError:
        pass
