"""An ASGI application that says when its hooks run."""

import asyncio


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                # As one that closes connections to a database.
                await asyncio.sleep(0.1)
                print("its hook ran", flush=True)
                await send({"type": "lifespan.shutdown.complete"})
                return
    length = (b"content-length", b"2")
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": b"ok"})
