"""Tools of a worker that has a GPU of its own, or a part of one."""

import os
from typing import TypedDict

from snakepit_bridge import tool


class Place(TypedDict):
    devices: list[str]
    share: float
    process: int


@tool
def place() -> Place:
    """Returns what this worker may use: CUDA knows no other device here."""
    return Place(
        devices=os.environ["CUDA_VISIBLE_DEVICES"].split(","),
        share=float(os.environ["GPU_SHARE"]),
        process=os.getpid(),
    )
