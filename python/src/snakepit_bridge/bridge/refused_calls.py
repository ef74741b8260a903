"""Why a call does not fit the tools of this worker."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from snakepit_bridge.failures.failure import CallRefused
from snakepit_bridge.frames import FailureCode
from snakepit_bridge.tools.tool import Tool


def not_found(name: str, tools: Mapping[str, Tool]) -> CallRefused:
    """Returns the refusal of a call of a tool that does not exist."""
    near = difflib.get_close_matches(name, tools, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    if name.startswith(Tool.RESERVED):
        message = (
            f"the host does not allow {name!r}; give the adapter the option handles"
        )
        return CallRefused(FailureCode.HANDLE_REFUSED, message)
    known = ", ".join(sorted(tools))
    if len(known) > 1000:
        known = f"{known[:1000]}…"
    message = f"there is no tool {name!r}{hint} (tools: {known})"
    return CallRefused(FailureCode.TOOL_NOT_FOUND, message)


def wrong_shape(tool: Tool, streams: bool) -> CallRefused:
    """Returns the refusal of a call that asks for chunks, one result or input, if the
    tool does not have that.
    """
    if tool.streams and not streams:
        problem = "answers with a stream of chunks; call it with stream()"
    elif streams and not tool.streams:
        problem = "answers with one result; call it with execute()"
    else:
        problem = "reads no input stream; declare it as @tool(input=...)"
    message = f"the tool {tool.name!r} {problem}"
    return CallRefused(FailureCode.WRONG_SHAPE, message)
