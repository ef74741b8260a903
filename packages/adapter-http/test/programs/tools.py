"""A server as people write them, with FastAPI: it knows nothing of Snakepit."""

import asyncio
import os

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse

app = FastAPI()
produced = 0


@app.get("/health")
async def health():
    return {"pid": os.getpid()}


@app.post("/echo")
async def echo(request: Request):
    return {"echoed": await request.json()}


@app.get("/users/{name}")
async def user(name: str, limit: int = 0):
    return {"name": name, "limit": limit}


@app.post("/bytes")
async def size(request: Request):
    return {"bytes": len(await request.body())}


@app.post("/sum")
async def sum_lines(request: Request):
    lines = (await request.body()).splitlines()
    return {"lines": len(lines)}


@app.post("/fail")
async def fail():
    return JSONResponse({"detail": "on purpose"}, status_code=500)


@app.post("/sleep")
async def sleep():
    print("begun", flush=True)
    await asyncio.sleep(3600)


@app.get("/text")
async def text():
    return PlainTextResponse("grüezi")


@app.post("/count")
async def count(to: int = 3):
    async def lines():
        for number in range(1, to + 1):
            yield f'{{"n": {number}}}\n'

    return StreamingResponse(lines(), media_type="application/x-ndjson")


@app.get("/events")
async def events():
    async def three():
        yield "data: one\n\n"
        yield "event: part\r\nid: 7\r\ndata: two\r\ndata: lines\r\n\r\n"
        yield ": a comment\n\ndata: [DONE]\n\n"

    return StreamingResponse(three(), media_type="text/event-stream")


@app.post("/endless")
async def endless():
    async def lines():
        global produced
        while True:
            produced += 1
            yield f'"{"x" * 65536}"\n'
            # Without this the server's loop would never see that nobody reads it.
            await asyncio.sleep(0)

    return StreamingResponse(lines(), media_type="application/x-ndjson")


@app.post("/silent")
async def silent():
    async def nothing():
        await asyncio.sleep(3600)
        yield "never\n"

    return StreamingResponse(nothing(), media_type="application/x-ndjson")


@app.get("/produced")
async def how_many():
    return produced


@app.post("/breaks-off")
async def breaks_off():
    async def lines():
        yield '{"n": 1}\n'
        raise RuntimeError("on purpose")

    return StreamingResponse(lines(), media_type="application/x-ndjson")
