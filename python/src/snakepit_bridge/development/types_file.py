"""Keeps a TypeScript module with the types of the tools up to date."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence

from snakepit_bridge.boot.launch_message import ToolSource
from snakepit_bridge.cli.command import write_file
from snakepit_bridge.cli.tools import types_text
from snakepit_bridge.tools.tool import Tool

_logger = logging.getLogger(__name__)
_FLAG = "--safe-integers"


def keep_types(path: str, sources: Sequence[ToolSource], tools: Iterable[Tool]) -> None:
    """Writes the file unless it is up to date; never raises.

    Args:
        path: The TypeScript module. One that was made with `--safe-integers` is made so
            again.
        sources: Where the tools are.
        tools: The tools.
    """
    try:
        current = _read(path)
        safe_integers = _FLAG in current.split("\n", 1)[0]
        targets = [_target(source) for source in sources]
        text = types_text(targets, tools, safe_integers=safe_integers)
        if text != current:
            write_file(os.path.abspath(path), text)
    except Exception as error:  # noqa: BLE001 - the tools work without it
        _logger.warning("the types of the tools were not written: %s", error)


def _target(source: ToolSource) -> str:
    names = "" if source.expose is None else f":{','.join(source.expose)}"
    return f"{source.origin}{names}"


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except FileNotFoundError:
        return ""
