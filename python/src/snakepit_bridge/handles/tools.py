"""The tools by which the host uses handles; no other tool has such a name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from snakepit_bridge.calls.context import current_call
from snakepit_bridge.handles.access import Access
from snakepit_bridge.tools.declaration import NO_INPUT, Answers, ToolMark
from snakepit_bridge.tools.tool import Tool

__all__ = ["handle_tools"]


def handle_tools(modules: Sequence[str]) -> dict[str, Tool]:
    """Returns the tools, by name. `modules`: those that the host may import."""
    tools = _HandleTools(Access(modules))
    offered: list[tuple[str, Callable[..., Any], Answers]] = [
        ("import", tools.module, Answers.REFERENCE),
        ("get", tools.get, Answers.EITHER),
        ("item", tools.item, Answers.EITHER),
        ("call", tools.call, Answers.EITHER),
        ("keep", tools.call, Answers.REFERENCE),
        ("await", tools.awaited, Answers.EITHER),
        ("iterate", tools.iterate, Answers.EITHER),
        ("value", tools.value, Answers.VALUE),
        ("release", tools.release, Answers.VALUE),
    ]
    return {
        (name := f"{Tool.RESERVED}{short}"): Tool(
            name, function, ToolMark(name, NO_INPUT, answers=answers)
        )
        for short, function, answers in offered
    }


class _HandleTools:
    """The functions. Handles among their arguments have become the objects."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def module(self, name: str) -> Any:
        return self._access.imported(name)

    def get(self, target: Any, name: str) -> Any:
        return self._access.attribute(self._access.target(target), name)

    def item(self, target: Any, key: Any) -> Any:
        return self._access.admitted(self._access.target(target)[key])

    def call(
        self,
        target: Any,
        name: str | None,
        arguments: list[Any],
        named: dict[str, Any],
    ) -> Any:
        target = self._access.target(target)
        function = target if name is None else self._access.attribute(target, name)
        return self._access.admitted(function(*arguments, **named))

    async def awaited(self, target: Any) -> Any:
        target = self._access.target(target)
        if not isinstance(target, Awaitable):
            raise TypeError(
                f"an object of type {type(target).__name__} cannot be awaited"
            )
        return self._access.admitted(await target)

    def iterate(self, target: Any) -> Iterator[Any]:
        for item in self._access.target(target):
            yield self._access.admitted(item)

    def value(self, target: Any) -> Any:
        return self._access.target(target)

    def release(self, token: bytes) -> None:
        current_call().handles.release(token)
