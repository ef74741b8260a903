"""A model on a device that runs one pass at a time: 5 ms, and 0.1 ms for each text."""

import threading
import time

from snakepit_bridge import Batch, tool

_device = threading.Lock()


def embed(texts: list[str]) -> list[list[float]]:
    with _device:
        time.sleep(0.005 + 0.0001 * len(texts))
    return [[float(len(text))] for text in texts]


@tool
def embed_one(text: str) -> list[float]:
    return embed([text])[0]


@tool(batch=Batch(max=32, wait_ms=5))
def embed_together(texts: list[str]) -> list[list[float]]:
    return embed(texts)
