"""Annotations that are read without `typing` are read as `typing` reads them."""

from __future__ import annotations

import json
import subprocess
import sys
import typing
from collections.abc import Callable
from typing import Annotated, Any, Optional, TypeVar

import pytest

from snakepit_bridge.tools.annotations import compile
from snakepit_bridge.tools.annotations.compile import hints_of, origin_of, parts_of

T = TypeVar("T")


class Shop:
    def sell(self, item: str, price: Shop | None, *more: int) -> list[Shop]:
        return []


def text(a: int, b: list[str] = [], /, *, c: dict[str, float | None]) -> None: ...  # noqa: B006
def nested(a: "list['Shop']", b: tuple[int, ...], c: tuple[()]) -> "Shop":  # noqa: UP037
    return Shop()


def forward(a: list["Shop"], b: dict[str, list["Shop"]]) -> None: ...  # noqa: UP037
def called(a: Callable[[int], str], b: list[Callable[..., int]]) -> None: ...
def of_typing(a: Optional[int], b: Any, c: typing.List[int], d: T) -> T:  # noqa: UP006, UP045
    return d


def annotated(a: Annotated[int, "about it"], b: int = None) -> None: ...  # type: ignore[assignment] # noqa: RUF013
def bare(a, b=1): ...  # type: ignore[no-untyped-def]


@typing.no_type_check
def unchecked(a: "not even Python"): ...


FUNCTIONS = [
    *(Shop.sell, Shop().sell, text, nested, forward),
    *(called, of_typing, annotated, bare),
]


@pytest.mark.parametrize("function", [*FUNCTIONS, unchecked, Shop, print])
def test_the_hints_of_a_function_are_those_of_typing(function: Any) -> None:
    assert hints_of(function) == typing.get_type_hints(function, include_extras=True)


@pytest.mark.parametrize("function", [Shop.sell, Shop().sell, text, bare])
def test_ordinary_hints_are_resolved_here(function: Any) -> None:
    assert compile._builtin_hints(function) is not None


@pytest.mark.parametrize("function", FUNCTIONS)
def test_origin_and_parts_are_those_of_typing(function: Any) -> None:
    for hint in hints_of(function).values():
        assert origin_of(hint) == typing.get_origin(hint)
        assert parts_of(hint) == typing.get_args(hint)


def test_a_name_that_is_not_there_is_reported() -> None:
    def tool(a: Nowhere) -> None: ...  # type: ignore[name-defined] # noqa: F821

    with pytest.raises(NameError, match="Nowhere"):
        hints_of(tool)


TOOLS = """
import collections.abc
from snakepit_bridge import tool

@tool
def plain(a: int, b: list[float], c: dict[str, int | None], d: tuple[int, ...], e: int = 4): ...

@tool
def of_abc(a: collections.abc.Sequence[str], b: set[int], c: bytes = b"") -> list[bool]:
    ...

@tool
def shapeless(a, *rest: int, **other: str) -> None: ...

@tool
async def later(to: int | str) -> None: ...
"""
SCHEMAS = """
import sys
{first}
from snakepit_bridge.tools.toolbox import Toolbox
import tools
found = [tool for tool in Toolbox(tools).tools.values()]
described = [(t.name, t.kind.value, t.signature.written(), t.signature.schema()) for t in found]
had_typing = "typing" in sys.modules
import json
print(json.dumps([had_typing, described]))
"""


def test_tools_without_typing_are_the_same_as_with_it(tmp_path: Any) -> None:
    (tmp_path / "tools.py").write_text(TOOLS)
    without, with_it = (schemas(tmp_path, first) for first in ("", "import typing"))
    assert (without[0], with_it[0]) == (False, True)
    assert without[1] == with_it[1]
    assert [tool[1] for tool in without[1]] == ["function"] * 3 + ["coroutine"]


def schemas(directory: Any, first: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", SCHEMAS.format(first=first)],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return json.loads(done.stdout)
