"""A worker that has imported numpy before it is ready."""

import numpy as np
from snakepit_bridge import tool


@tool
def total(numbers: list[float]) -> float:
    return float(np.sum(numbers))
