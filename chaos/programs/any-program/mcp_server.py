"""A server with one tool, which never returns."""

import asyncio

from mcp.server.mcpserver import MCPServer

server = MCPServer("waits")


@server.tool()
async def wait() -> str:
    await asyncio.sleep(3_600)
    return "never"


server.run()
