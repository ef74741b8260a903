"""`python -m snakepit_bridge types`: what a file or module offers, for TypeScript."""

from __future__ import annotations

import argparse
import itertools
import os
import shlex
import sys
from typing import TextIO

from snakepit_bridge.cli.exit_codes import STALE
from snakepit_bridge.cli.load_target import CommandFailed, load_tools
from snakepit_bridge.cli.results import opened_results, write_results
from snakepit_bridge.cli.written_file import write_file
from snakepit_bridge.typescript.tools_module import tools_module

__all__ = ["types_command"]


def types_command(arguments: list[str]) -> int:
    """Writes a module that exports `Tools`, or says whether one is still right."""
    options = _parser().parse_args(arguments)
    status = 0  # Of a module that nobody reads to its end.
    with opened_results() as results:
        status = _types(options, results)
    return status


def _types(options: argparse.Namespace, results: TextIO) -> int:
    # The same text from wherever it is made.
    command = _command(os.path.basename(options.target), options.safe_integers)
    # It is one line.
    command = command if command.isprintable() else ascii(command)[1:-1]
    try:
        tools = load_tools(options.target).values()
        text = tools_module(tools, command, safe_integers=options.safe_integers)
        if options.check is not None:
            _check(
                options.check,
                text,
                _command(
                    options.target, options.safe_integers, "--output", options.check
                ),
            )
        elif options.output is not None:
            write_file(options.output, text)
        else:
            # Source of TypeScript is UTF-8, whatever a terminal is.
            write_results(results, text.encode())
    except CommandFailed as failed:
        print(failed, file=sys.stderr)
        return failed.status
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m snakepit_bridge types",
        description="Writes the type of the tools for createPool<Tools> as a TypeScript module.",
        epilog="Exit status: 0; 1 FILE is stale; 66 the tools cannot be loaded; 73 FILE "
        "or standard output cannot be written. What tools print goes to standard error.",
    )
    parser.add_argument("target", metavar="FILE_OR_MODULE")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--output",
        metavar="FILE",
        help="write it there, at once or not at all; never over a module that was loaded",
    )
    where.add_argument(
        "--check", metavar="FILE", help="write nothing; fail if FILE is not the same"
    )
    parser.add_argument(
        "--safe-integers",
        action="store_true",
        help="an int in an answer is a number: none is beyond 2**53, where it would be a bigint",
    )
    return parser


def _command(target: str, safe_integers: bool, *more: str) -> str:
    flag = ["--safe-integers"] if safe_integers else []
    command = ["python", "-m", "snakepit_bridge", "types"]
    return shlex.join([*command, target, *flag, *more])


def _check(path: str, text: str, command: str) -> None:
    try:
        # Some editors begin it with a mark, which says nothing.
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
