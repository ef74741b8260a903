"""`python -m snakepit_bridge tools`: what a file or module offers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from snakepit_bridge.cli.command import (
    WRONG_USAGE,
    run_command,
    write_results,
)
from snakepit_bridge.cli.load_target import load_tools
from snakepit_bridge.tools.annotations.named import json_schema
from snakepit_bridge.tools.tool import Tool

__all__ = ["tools_command"]

USAGE = "usage: python -m snakepit_bridge tools FILE_OR_MODULE[:NAME,...] [--json]\n"


def tools_command(arguments: list[str]) -> int:
    """Lists the tools, as lines or with all their schemas as JSON."""
    targets = [argument for argument in arguments if argument != "--json"]
    if len(targets) != 1 or targets[0].startswith("-"):
        sys.stderr.write(USAGE)
        return WRONG_USAGE
    as_json = "--json" in arguments
    return run_command(lambda results: _list(targets[0], as_json, results))


def _list(target: str, as_json: bool, results: TextIO) -> None:
    tools = load_tools([target]).values()
    if as_json:
        text = json.dumps([_described(tool) for tool in tools], indent=2)
    else:
        text = "\n".join(line for tool in tools for line in _listed(tool))
    write_results(results, f"{text}\n")


def _listed(tool: Tool) -> Iterator[str]:
    shape = " (stream)" if tool.streams else ""
    if tool.signature.stream_result is not None:
        shape = f" (stream, returns {tool.signature.stream_result.expected})"
    if tool.batch is not None:
        shape = f" (batches of up to {tool.batch.max})"
    result = tool.signature.result.expected
    yield f"{tool.name}({tool.signature.written()}) -> {result}{shape}"
    if tool.description:
        yield f"    {tool.description.splitlines()[0]}"


def _described(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "streams": tool.streams,
        "batchMax": None if tool.batch is None else tool.batch.max,
        "takesInput": tool.input is not None,
        "input": None if tool.input is None else json_schema(tool.input),
        "arguments": tool.signature.schema(),
        "result": json_schema(tool.signature.result),
        "streamResult": None
        if tool.signature.stream_result is None
        else json_schema(tool.signature.stream_result),
    }
