from snakepit_bridge import tool


@tool
def add(a: int, b: int) -> int:
    return a + b
