"""`python -m snakepit_bridge tools` and `types`: what files and modules offer, also as
TypeScript.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

from snakepit_bridge.cli.command import (
    STALE,
    WRONG_USAGE,
    CommandFailed,
    load_tools,
    run_command,
    write_file,
    write_results,
)
from snakepit_bridge.tools.annotations.check import json_schema
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.typescript.tools_module import tools_module

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
        "readsInput": tool.input is not None,
        "input": None if tool.input is None else json_schema(tool.input),
        "arguments": tool.signature.schema(),
        "result": json_schema(tool.signature.result),
        "streamResult": None
        if tool.signature.stream_result is None
        else json_schema(tool.signature.stream_result),
    }


def types_command(arguments: list[str]) -> int:
    """Writes a module that exports `Tools`, or checks one that exists."""
    options = _parser().parse_args(arguments)
    return run_command(lambda results: _types(options, results))


def _types(options: argparse.Namespace, results: TextIO) -> None:
    tools = load_tools(options.targets).values()
    text = types_text(options.targets, tools, safe_integers=options.safe_integers)
    if options.check is not None:
        again = ("--output", options.check)
        command = _command(options.targets, options.safe_integers, *again)
        _check(options.check, text, command)
    elif options.output is not None:
        write_file(options.output, text)
    else:
        # TypeScript source is UTF-8, whatever the terminal is.
        write_results(results, text.encode())


def types_text(
    targets: Sequence[str], tools: Iterable[Tool], *, safe_integers: bool
) -> str:
    """Returns the TypeScript module with the types of the tools of files and modules."""
    # The same text wherever it is made, and one line.
    command = _command([os.path.basename(each) for each in targets], safe_integers)
    command = command if command.isprintable() else ascii(command)[1:-1]
    return tools_module(tools, command, safe_integers=safe_integers)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m snakepit_bridge types",
        description="Writes the type of the tools for createPool<Tools> as a TypeScript module.",
        epilog="Exit status: 0; 1 FILE is stale; 66 the tools cannot be loaded; 73 FILE "
        "or standard output cannot be written. What tools print goes to standard error.",
    )
    parser.add_argument("targets", nargs="+", metavar="FILE_OR_MODULE[:NAME,...]")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--output",
        metavar="FILE",
        help="write to FILE, completely or not at all; never over a module that was loaded",
    )
    where.add_argument(
        "--check", metavar="FILE", help="write nothing; fail if FILE differs"
    )
    parser.add_argument(
        "--safe-integers",
        action="store_true",
        help="declare int results as number, not bigint; use it if none is beyond 2**53",
    )
    return parser


def _command(targets: Sequence[str], safe_integers: bool, *more: str) -> str:
    flag = ["--safe-integers"] if safe_integers else []
    command = ["python", "-m", "snakepit_bridge", "types"]
    return shlex.join([*command, *targets, *flag, *more])


def _check(path: str, text: str, command: str) -> None:
    try:
        # Some editors put a byte order mark in front.
        with open(path, encoding="utf-8-sig") as file:
            current = file.read()
    except (OSError, UnicodeDecodeError) as error:
        problem = f"{path} cannot be read: {error}; make it with `{command}`"
        raise CommandFailed(STALE, problem) from error
    if current != text:
        lines = itertools.zip_longest(current.splitlines(), text.splitlines())
        same = itertools.takewhile(lambda pair: pair[0] == pair[1], lines)
        line = len(list(same)) + 1
        problem = f"{path} is stale from line {line} on; make it with `{command}`"
        raise CommandFailed(STALE, problem)
