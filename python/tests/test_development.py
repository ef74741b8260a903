"""What a worker does only while its tools are written."""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
from pathlib import Path

import msgpack
import numpy
import pytest
from conftest import Host

import snakepit_bridge
from snakepit_bridge.boot.launch_message import ToolSource
from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.development.source_report import SourceReport, is_own_source
from snakepit_bridge.development.types_file import keep_types
from snakepit_bridge.frames import Sources
from snakepit_bridge.tools.loading import BEGUN_S, load_file
from snakepit_bridge.tools.toolbox import Toolbox

TOOLS = """\
from snakepit_bridge import tool


@tool
def answer() -> int:
    return 1
"""


class Outbox:
    """Keeps what is put into it."""

    def __init__(self) -> None:
        self.frames: list[pb.WorkerFrame] = []

    def put(self, frame: pb.WorkerFrame) -> None:
        self.frames.append(frame)


def test_only_the_users_own_source_is_reported(tmp_path: Path) -> None:
    own = [tmp_path / "tools.py", tmp_path / "lib" / "python" / "a.py"]
    installed = [json.__file__, msgpack.__file__, numpy.__file__]
    bridge = [snakepit_bridge.__file__]
    other = ["<frozen os>", str(tmp_path / "fast.so"), "/x/site-packages/y/z.py"]
    assert [path for path in own if not is_own_source(str(path))] == []
    assert [path for path in (*installed, *bridge, *other) if is_own_source(path)] == []


def test_each_file_is_reported_once_with_the_moment_after_which_it_was_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "first_module.py").write_text("")
    (tmp_path / "second_module.py").write_text("")
    os.symlink(tmp_path / "second_module.py", tmp_path / "linked_module.py")
    monkeypatch.syspath_prepend(tmp_path)
    outbox = Outbox()
    report = SourceReport(outbox)  # type: ignore[arg-type]
    report.look()
    outbox.frames.clear()
    importlib.import_module("first_module")
    report.look()
    report.look()
    importlib.import_module("linked_module")
    report.look()
    first, second = (each for each in outbox.frames if isinstance(each, Sources))
    assert list(first.files) == [str(tmp_path / "first_module.py")]
    assert list(second.files) == [
        str(tmp_path / "linked_module.py"),
        str(tmp_path / "second_module.py"),
    ]
    assert BEGUN_S * 1_000_000 < first.since_us <= second.since_us
    for name in ("first_module", "linked_module"):
        del sys.modules[name]


LATE = """
from snakepit_bridge import tool


@tool
def plain() -> None:
    import late_in_plain


@tool
async def waits() -> None:
    import late_in_async


@tool
def streams():
    import late_in_stream

    yield 1
"""


@pytest.mark.parametrize("transport", ["grpc", "framed"])
@pytest.mark.parametrize("calls_per_worker", [1, 2])
def test_what_a_call_imports_is_reported_after_it(
    start: Host, tmp_path: Path, calls_per_worker: int
) -> None:
    host = start(LATE, watch={}, callsPerWorker=calls_per_worker)
    conversation = host.converse()
    for tool, module, call in (
        ("plain", "late_in_plain", {}),
        ("waits", "late_in_async", {}),
        ("streams", "late_in_stream", {"stream_credit": 2}),
    ):
        late = tmp_path / f"{module}.py"
        late.write_text("")
        conversation.begin(tool, **call)
        while str(late) not in conversation.receive().sources.files:
            pass


def test_types_are_written_when_they_differ_with_the_flags_that_made_them(
    tmp_path: Path,
) -> None:
    source = tmp_path / "some_tools.py"
    source.write_text(TOOLS)
    toolbox = Toolbox()
    toolbox.add(load_file(str(source)), None)
    tools = toolbox.tools
    places = [ToolSource({"file": str(source)})]
    types = tmp_path / "tools.ts"
    keep_types(str(types), places, tools.values())
    assert "answer(): number | bigint;" in types.read_text()
    written = types.stat().st_ino
    keep_types(str(types), places, tools.values())
    assert types.stat().st_ino == written
    types.write_text("// Made by `... types some_tools.py --safe-integers`.\n")
    keep_types(str(types), places, tools.values())
    assert "answer(): number;" in types.read_text()


def test_types_name_every_source_that_they_were_made_of(tmp_path: Path) -> None:
    module = ToolSource({"module": "math", "expose": ["sqrt", "gcd"]})
    types = tmp_path / "tools.ts"
    keep_types(str(types), [ToolSource({"file": "/a/tools.py"}), module], [])
    first = types.read_text().split("\n", 1)[0]
    assert first == (
        "// Made by `python -m snakepit_bridge types tools.py math:sqrt,gcd`."
    )


def test_types_that_cannot_be_written_are_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        keep_types(
            str(tmp_path / "nowhere" / "tools.ts"), [ToolSource({"file": "a.py"})], []
        )
    assert "the types of the tools were not written" in caplog.text
