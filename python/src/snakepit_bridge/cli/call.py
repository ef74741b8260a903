"""`python -m snakepit_bridge call`: one tool, once, with its values as JSON. What JSON has
no type for is an object with one `$` key.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import logging
import math
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from typing import Any, TextIO

from snakepit_bridge.calls.cancel.cancellation import Cancellation
from snakepit_bridge.calls.context.call import Call
from snakepit_bridge.calls.context.host_calls import HostCallFailed, Reply
from snakepit_bridge.calls.context.input_stream import InputStream
from snakepit_bridge.calls.run.local_run import run_locally
from snakepit_bridge.cli.command import (
    INTERRUPTED,
    TOOL_FAILED,
    WRONG_CALL,
    CommandFailed,
    give_up_results,
    load_target,
    run_command,
    write_results,
)
from snakepit_bridge.failures.python_error import error_summary, traceback_text
from snakepit_bridge.threads.main_thread import MainThread
from snakepit_bridge.tools.annotations.check import Mismatch
from snakepit_bridge.tools.binding import ArgumentsInvalid, did_you_mean
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.tools.toolbox import Toolbox
from snakepit_bridge.values.encode import encode
from snakepit_bridge.values.json_forms import array_of_json, table_of_json
from snakepit_bridge.values.nd_array import NdArray
from snakepit_bridge.values.numpy_values import array_parts, imported_numpy
from snakepit_bridge.values.tables import is_table, table_as
from snakepit_bridge.values.value_not_transferable import has_digits


def to_json(value: Any) -> str:
    """Returns one line of JSON for a value that has an encoding."""
    return json.dumps(_json_form(value), ensure_ascii=False, allow_nan=False)


def from_json(text: str) -> Any:
    """Returns the value that a text of JSON stands for.

    Raises:
        ValueError: it is not JSON, or has an invalid `$` object.
    """
    return _value(json.loads(text))


def _json_form(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": str(value)}
    if isinstance(value, int) and not has_digits(value):
        return {"$int": hex(value)}
    if isinstance(value, (bytes, NdArray)):
        return _json_binary(value)
    if isinstance(value, datetime):
        return {"$datetime": value.isoformat()}
    if isinstance(value, date):
        return {"$date": value.isoformat()}
    if isinstance(value, list):
        return [_json_form(item) for item in value]
    if isinstance(value, tuple):
        return {"$tuple": [_json_form(item) for item in value]}
    if isinstance(value, (set, frozenset)):
        return {"$set": [_json_form(item) for item in value]}
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: _json_form(item) for key, item in value.items()}
        return {
            "$map": [[_json_form(k), _json_form(item)] for k, item in value.items()]
        }
    numpy = imported_numpy()
    if numpy is not None and isinstance(value, numpy.ndarray):
        return _json_binary(NdArray(*array_parts(value)))
    if is_table(value):
        rows = table_as(value, "pyarrow", "Table").to_pylist()  # type: ignore[attr-defined]
        return {"$table": _json_form(rows)}
    return value


def _json_binary(value: bytes | NdArray) -> Any:
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    data = base64.b64encode(value.data).decode()
    parts = {"dtype": value.dtype, "shape": list(value.shape), "data": data}
    return {"$ndarray": parts}


def _value(data: Any) -> Any:
    if isinstance(data, list):
        return [_value(item) for item in data]
    if not isinstance(data, dict):
        return data
    if len(data) == 1:
        ((key, content),) = data.items()
        read = _TAGS.get(key)
        if read is not None:
            try:
                return read(content)
            except (TypeError, KeyError, ValueError) as error:
                raise ValueError(f"{key}: {error}") from None
    return {key: _value(item) for key, item in data.items()}


_TAGS: dict[str, Any] = {
    "$float": float,
    "$int": lambda text: int(text, 0),
    "$bytes": lambda text: base64.b64decode(text, validate=True),
    "$datetime": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$tuple": lambda items: tuple(map(_value, items)),
    "$set": lambda items: set(map(_value, items)),
    "$map": lambda items: {_value(key): _value(item) for key, item in items},
    "$ndarray": array_of_json,
    "$table": lambda rows: table_of_json(_value(rows)),
}


class _NoHost:
    """Answers host calls where there is no host."""

    def send_host_call(self, call_id: int, reply: Reply, argument: bytes) -> int:
        problem = (
            "there is no host here; in a test, use snakepit_bridge.testing.call_context"
        )
        raise HostCallFailed(reply.function, "NO_HOST", problem)

    def drop_host_call(self, host_call_id: int) -> None:
        """Nothing was sent."""


def local_call(tool: Tool, items: Iterable[Any] | None, timeout: float | None) -> Call:
    """Makes a call that no host made.

    Args:
        tool: the tool that is called.
        items: those of the input stream; None for no stream.
        timeout: seconds until its deadline; None for none.

    Raises:
        ValueNotTransferable: an item cannot cross.
    """
    cancellation = Cancellation()
    if items is None:
        stream = InputStream(cancellation)
    else:
        stream = InputStream(cancellation, tool.input, lambda _items: None)
        for item in items:
            stream.put(encode(item, "$input"))
        stream.end("")
    call = Call(1, tool.name, _NoHost(), cancellation, tool.is_async)
    call.session = {}
    if timeout is not None:
        call.deadline = time.monotonic() + timeout
    call._input = stream
    return call


def call_command(arguments: list[str]) -> int:
    """Calls a tool and prints its result, or each chunk, as a line of JSON."""
    options = _parser().parse_intermixed_args(arguments)
    logging.basicConfig(level=options.log_level, stream=sys.stderr)
    return run_command(lambda results: _call(options, results))


def _call(options: argparse.Namespace, results: TextIO) -> None:
    main = MainThread()
    try:
        toolbox = load_target([options.target], main)
        try:
            tool = _find(toolbox, options.tool)
            arguments = _arguments(tool, options.json, options.pairs)
            with _input(options.input) as items:
                _run(tool, arguments, items, main, options.timeout, results)
        finally:
            failed = toolbox.shut_down(lambda hook: main.complete(hook()))
        for error in failed:
            if isinstance(error, KeyboardInterrupt):
                raise error
            problem = f"a shut-down hook failed: {error_summary(error)}"
            raise CommandFailed(TOOL_FAILED, problem)
    except KeyboardInterrupt:
        raise CommandFailed(INTERRUPTED, "interrupted") from None
    finally:
        main.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m snakepit_bridge call",
        description="Calls one tool once, in this process, without a host.",
        epilog="Values that JSON has no type for are objects with one key: "
        '{"$bytes": "base64"}, {"$datetime": "2030-01-31T12:00:00+00:00"}, $date, '
        '$tuple, $set, $map, {"$ndarray": {"dtype": "float32", "shape": [2], "data": '
        '[1, 2]}} or "data": "base64", {"$float": "nan"}, {"$int": "0x..."} for thousands of digits. Exit status: 0; 1 the tool or a shut-down hook raised; 65 wrong '
        "tool or arguments; 66 the tools cannot be loaded; 73 the results cannot be written. What tools print goes to standard error, and so does what a generator returns after its last item.",
    )
    parser.add_argument("target", metavar="FILE_OR_MODULE[:NAME,...]")
    parser.add_argument("tool", metavar="TOOL")
    parser.add_argument(
        "pairs",
        metavar="NAME=VALUE",
        nargs="*",
        help="an argument; a value that is not JSON is a string",
    )
    parser.add_argument(
        "--json", help="all arguments: an object of names, or a list", metavar="JSON"
    )
    parser.add_argument(
        "--input", metavar="FILE", help="the input stream, as lines of JSON; - is stdin"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help="the deadline of current_call()",
    )
    parser.add_argument("--log-level", default="INFO", metavar="LEVEL")
    return parser


def _find(toolbox: Toolbox, name: str) -> Tool:
    tool = toolbox.tools.get(name)
    if tool is None:
        hint = did_you_mean(name, toolbox.tools)
        known = ", ".join(sorted(toolbox.tools))
        raise CommandFailed(WRONG_CALL, f"no tool {name!r}{hint} (tools: {known})")
    return tool


def _arguments(tool: Tool, text: str | None, pairs: list[str]) -> Any:
    try:
        values = {} if text is None else from_json(text)
    except ValueError as error:
        raise CommandFailed(WRONG_CALL, f"--json: {error}") from None
    if pairs and not isinstance(values, dict):
        problem = "NAME=VALUE can be combined only with an object in --json"
        raise CommandFailed(WRONG_CALL, problem)
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator:
            raise CommandFailed(WRONG_CALL, f"not NAME=VALUE: {pair}")
        values[name] = _pair_value(tool, name, value)
    return values


def _pair_value(tool: Tool, name: str, text: str) -> Any:
    """Reads JSON, unless it is none, or what the tool takes there is the text only."""
    check = tool.signature.check_of(name)
    try:
        value = from_json(text)
    except json.JSONDecodeError:
        return text
    except ValueError as error:
        if check is not None and str in check.exact:
            return text
        raise CommandFailed(WRONG_CALL, f"{name}: {error}") from None
    if check is None:
        return value
    for either in (value, text):
        with contextlib.suppress(Mismatch):
            check.check(either, None)
            return either
    return value


@contextlib.contextmanager
def _input(path: str | None) -> Iterator[Iterator[Any] | None]:
    if path is None:
        yield None
    elif path == "-":
        yield _items(sys.stdin)
    else:
        try:
            lines = open(path, encoding="utf-8")  # noqa: SIM115 - closed below
        except OSError as error:
            raise CommandFailed(WRONG_CALL, f"--input: {error}") from None
        with lines:
            yield _items(lines)


def _items(lines: Iterable[str]) -> Iterator[Any]:
    for number, line in enumerate(lines, 1):
        try:
            yield from_json(line)
        except ValueError as error:
            problem = f"--input, line {number}: {error}"
            raise CommandFailed(WRONG_CALL, problem) from None


def _run(
    tool: Tool,
    arguments: Any,
    items: Iterator[Any] | None,
    main: MainThread,
    timeout: float | None,
    results: TextIO,
) -> None:
    try:
        call = local_call(tool, items, timeout)
        run = run_locally(tool, arguments, call, main.loop.run_until_complete)
        while True:
            try:
                value = next(run)
            except StopIteration as end:
                returned = end.value
                break
            write_results(results, f"{to_json(value)}\n")
        if returned is not None:
            print(f"{tool.name} returned {to_json(returned)}", file=sys.stderr)
    except CommandFailed:
        raise
    except ArgumentsInvalid as error:
        raise CommandFailed(WRONG_CALL, f"{tool.name}: {error}") from None
    except BrokenPipeError:
        give_up_results(results)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise CommandFailed(TOOL_FAILED, traceback_text(error)) from error
