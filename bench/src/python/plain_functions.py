"""For bridges that import a module: no decorator, nothing to know."""


def echo(value: object) -> object:
    return value


def take(data: bytes) -> int:
    return len(data)
