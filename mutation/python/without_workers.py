"""A plugin of pytest: leaves out the tests that start a worker, too slow for every mutant."""

import pytest

STARTERS = {"guard", "host", "shared", "start"}


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    started = [each for each in items if STARTERS & set(each.fixturenames)]
    config.hook.pytest_deselected(items=started)
    items[:] = [each for each in items if each not in started]
