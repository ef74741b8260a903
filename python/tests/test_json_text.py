"""JSON of the control channel is what `json` reads and writes."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from typing import Any

import pytest

from snakepit_bridge.boot.control_channel import read_json, write_json

VALUES: list[Any] = [
    {},
    {"ready": {"protocol": 1, "bridge": "0.1.0", "python": "3.12.4"}},
    {"failed": {"message": 'é "quoted" \\ \n\t\0 \ud800 😀', "detail": ""}},
    {"text": "\x7f\u2028", "": -(10**40)},
    # What is written by `json` itself.
    {"list": [1, 2.5, None, True, {"a": []}], "nan": float("inf")},
    {1: "a key that is a number", None: True},
    [],
    "text",
    1.5,
    True,
    None,
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_what_is_written_is_what_json_writes(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert write_json(value) == text
    assert read_json(text) == json.loads(text)
    assert read_json(f" \n{json.dumps(value)}\r\t ") == json.loads(text)


def test_what_has_no_json_is_refused() -> None:
    with pytest.raises(TypeError):
        write_json({"a": object()})


def test_any_text_is_read_as_json_reads_it() -> None:
    chance = random.Random(3)
    read = 0
    for _ in range(50_000):
        text = "".join(
            chance.choice('{}[]:,"\\ \n\tab01.-e')
            if chance.randrange(3)
            else chance.choice(
                ('"a"', "null", "true", "NaN", "12", '{"a": 1}', "\\u00e9")
            )
            for _ in range(chance.randrange(1, 9))
        )
        try:
            means = json.loads(text)
        except ValueError as error:
            with pytest.raises(ValueError) as refused:
                read_json(text)
            assert str(refused.value) == str(error)
        else:
            read += 1
            assert repr(read_json(text)) == repr(means)
    assert read > 1000


def test_the_error_is_that_of_json_where_nothing_has_imported_it() -> None:
    # Python 3.10 does not import the class of the error.
    program = (
        "from snakepit_bridge.boot.control_channel import read_json\n"
        "import sys\n"
        "assert read_json('{\"a\": [1, null]} \\n') == {'a': [1, None]}\n"
        "assert 'json' not in sys.modules\n"
        "try:\n    read_json('{a}')\n"
        "except ValueError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.startswith("Expecting property name enclosed in double quotes")
