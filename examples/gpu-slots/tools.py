"""Tools of a worker that has a GPU of its own, or a part of one."""

import os
from typing import TypedDict

from snakepit_bridge import tool


class Devices(TypedDict):
    devices: list[str]
    share: float


@tool
def devices() -> Devices:
    """Returns what this worker may use: CUDA knows no other device here."""
    return Devices(
        devices=os.environ["CUDA_VISIBLE_DEVICES"].split(","),
        share=float(os.environ["GPU_SHARE"]),
    )
