"""A server as people write one with the official library, of either major version."""

import asyncio

from mcp.types import SamplingMessage, TextContent

try:
    from mcp.server.mcpserver import Context, MCPServer
except ImportError:
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as MCPServer

server = MCPServer("python")


@server.tool()
def echo(message: str) -> str:
    return f"Echo: {message}"


@server.tool()
def fail() -> str:
    raise ValueError("on purpose")


@server.tool()
async def count(to: int, ctx: Context) -> str:
    for n in range(1, to + 1):
        await ctx.report_progress(n, to)
    return "counted"


@server.tool()
async def wait() -> str:
    await asyncio.sleep(3_600)
    return "never"


@server.tool()
async def ask(prompt: str, ctx: Context) -> str:
    question = SamplingMessage(
        role="user", content=TextContent(type="text", text=prompt)
    )
    answer = await ctx.session.create_message([question], max_tokens=10)
    return answer.content.text


server.run()
