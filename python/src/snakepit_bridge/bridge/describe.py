"""The description of this worker's tools for the host."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge._version import __version__
from snakepit_bridge.tools.annotations.check import json_schema
from snakepit_bridge.tools.tool import Tool

__all__ = ["describe", "describe_signal"]


def describe_signal(tools: Mapping[str, Tool]) -> bytes:
    """Returns a `WorkerSignal` with the description."""
    return pb.WorkerSignal(describe=describe(tools)).SerializeToString()


def describe(tools: Mapping[str, Tool]) -> pb.DescribeResponse:
    """Returns all tools with their schemas, by name."""
    return pb.DescribeResponse(
        tools=[
            _tool(tools[name])
            for name in sorted(tools)
            if not name.startswith(Tool.RESERVED)
        ],
        bridge_version=__version__,
        python_version=sys.version.split()[0],
    )


def _tool(tool: Tool) -> pb.Tool:
    streams = tool.streams
    return pb.Tool(
        name=tool.name,
        description=tool.description,
        shape=pb.TOOL_SHAPE_STREAM if streams else pb.TOOL_SHAPE_UNARY,
        takes_input=tool.input is not None,
        arguments_schema_json=json.dumps(tool.signature.schema()),
        result_schema_json=json.dumps(json_schema(tool.signature.result)),
        batch_max=None if tool.batch is None else tool.batch.max,
    )
