"""An application for uvicorn; each of its two workers says when it is up."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

Message = dict[str, object]


async def app(
    scope: Message,
    receive: Callable[[], Awaitable[Message]],
    send: Callable[[Message], Awaitable[None]],
) -> None:
    if scope["type"] != "lifespan":
        raise NotImplementedError
    await receive()
    try:
        (Path(os.environ["CHAOS_STAGE"]) / "first").touch(exist_ok=False)
        print("first worker is up", flush=True)
    except FileExistsError:
        print("second worker is up", flush=True)
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})
