"""What is said of tools, batches and types that are declared wrongly."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.signatures import taking

from snakepit_bridge import ValueNotTransferable, decoder, encoder, tool, toolset
from snakepit_bridge.testing import call_tool
from snakepit_bridge.tools.binding import bind
from snakepit_bridge.tools.toolbox import Toolbox, ToolsInvalid
from snakepit_bridge.values import own_types
from snakepit_bridge.values.encode import FORMS, encode


class Line:
    def __init__(self, text: str) -> None:
        self.text = text


@toolset
class Base:
    @tool
    def good(self) -> int:
        return 1


@toolset
class Derived(Base):
    pass


@pytest.fixture(autouse=True)
def unregistered() -> Iterator[None]:
    # Other modules register at their import.
    registries: list[dict[Any, Any]] = [own_types.ENCODERS, own_types.DECODERS, FORMS]
    before = [dict(each) for each in registries]
    yield
    for registry, kept in zip(registries, before, strict=True):
        registry.clear()
        registry.update(kept)


@pytest.mark.parametrize(("given", "remedy"), [(8, 8), (0, 32), (True, 32), ("4", 32)])
def test_a_batch_that_is_no_batch_is_refused_with_what_to_write(
    given: Any, remedy: int
) -> None:
    with pytest.raises(TypeError) as caught:
        tool(batch=given)
    assert str(caught.value) == (
        f"batch={given!r} is not a Batch; write @tool(batch=Batch(max={remedy}))"
    )


def test_a_second_encoder_or_decoder_of_a_type_is_refused_with_both_places() -> None:
    def write(line: Line) -> str: ...  # type: ignore[empty-body]

    def read(text: str) -> Line: ...  # type: ignore[empty-body]

    first = write, read

    def write(line: Line) -> bytes: ...  # type: ignore[no-redef,empty-body]

    def read_again(text: str) -> Line: ...  # type: ignore[empty-body]

    encoder(Line)(first[0])
    decoder(first[1])
    places = r"Line has two functions under @{}: .*{}.*\.py:\d+\) and .*{}.*\.py:\d+\)"
    with pytest.raises(TypeError, match=places.format("encoder", "write", "write")):
        encoder(Line)(write)
    with pytest.raises(TypeError, match=places.format("decoder", "read", "read_again")):
        decoder(read_again)
    encoder(Line)(first[0])
    assert own_types.ENCODERS[Line] is first[0]
    assert own_types.DECODERS[Line] is first[1]


def test_a_module_that_is_loaded_again_replaces_its_encoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    source = (
        "from pathlib import PosixPath\nfrom snakepit_bridge import encoder\n{}"
        "@encoder(PosixPath)\ndef write(path: PosixPath) -> str: return '{}'\n"
    )
    file = tmp_path / "reloaded_paths.py"
    file.write_text(source.format("", "before"))
    module = importlib.import_module("reloaded_paths")
    monkeypatch.setitem(sys.modules, "reloaded_paths", module)
    file.write_text(source.format("\n\n", "after"))
    importlib.reload(module)
    written: Any = own_types.ENCODERS[type(tmp_path)]
    assert written(tmp_path) == "after"


def test_a_decoder_that_returns_another_type_is_an_error_of_the_tool() -> None:
    def read(text: str) -> Line:
        found: Any = text
        return found  # type: ignore[no-any-return]

    decoder(read)
    with pytest.raises(TypeError, match=r"read returned str; return Line, as its"):
        bind(taking(Line), {"x": "a"})


def test_a_decoder_may_make_what_isinstance_does_not_take() -> None:
    from typing import TypedDict

    class Point(TypedDict):
        x: int

    def read(x: int) -> Any:
        return {"x": x}

    read.__annotations__ = {"x": int, "return": Point}
    decoder(read)
    assert bind(taking(Point), {"x": 1}) == ([], {"x": {"x": 1}})


def test_a_name_of_two_toolsets_is_refused_with_both_classes() -> None:
    module = types.ModuleType("inherits")
    vars(module).update(Base=Base, Derived=Derived)
    toolbox = Toolbox(module)
    with pytest.raises(ToolsInvalid) as caught:
        for hook in toolbox.startup_hooks():
            hook()
    message = str(caught.value)
    assert "Base.good of the toolset Base and" in message
    assert "Base.good of the toolset Derived; give one" in message
    assert message.endswith("or its toolset a prefix=...")


def test_a_method_without_its_instance_is_refused_with_both_remedies() -> None:
    with pytest.raises(
        TypeError, match=r"Base\.good is a method without.*snakepit_tools\.call\('good'"
    ):
        call_tool(Base.good, {})
    assert call_tool(Base().good, {}) == 1


def test_a_missing_value_of_pandas_is_refused_with_none_as_remedy() -> None:
    # Its type's name is all that is known of it.
    missing = type("NAType", (), {})()
    with pytest.raises(
        ValueNotTransferable,
        match=r"\$\.a\[1\] has the type .*NAType, .*send None in its place",
    ):
        encode({"a": [1, missing]})
