"""A plugin of pytest: leaves out the tests that start a process, too slow for every mutant.

Another user than the one who runs the tests may also not be allowed to start Python.
"""

import sys

import pytest

# mutmut calls each function through functions of its own: 100 levels of a value take
# more frames than Python allows by default.
sys.setrecursionlimit(10_000)

STARTERS = {"guard", "host", "shared", "start"}


def starts(item: pytest.Item) -> bool:
    code = getattr(getattr(item, "function", None), "__code__", None)
    is_direct = code is not None and "subprocess" in code.co_names
    return is_direct or bool(STARTERS & set(getattr(item, "fixturenames", ())))


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    started = [each for each in items if starts(each)]
    config.hook.pytest_deselected(items=started)
    items[:] = [each for each in items if each not in started]
