"""The description of this worker's tools for the host."""

from __future__ import annotations

import json
from collections.abc import Mapping

from snakepit_bridge.frames import ToolDescription
from snakepit_bridge.tools.annotations.check import json_schema
from snakepit_bridge.tools.tool import Tool


def describe(tools: Mapping[str, Tool]) -> list[ToolDescription]:
    """Returns all tools with their schemas, by name."""
    return [
        _tool(tools[name])
        for name in sorted(tools)
        if not name.startswith(Tool.RESERVED)
    ]


def _tool(tool: Tool) -> ToolDescription:
    return ToolDescription(
        name=tool.name,
        description=tool.description,
        shape="STREAM" if tool.streams else "UNARY",
        reads_input=tool.input is not None,
        arguments_schema_json=json.dumps(tool.signature.schema()),
        result_schema_json=json.dumps(json_schema(tool.signature.result)),
        batch_max=None if tool.batch is None else tool.batch.max,
    )
