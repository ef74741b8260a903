import pytest


@pytest.fixture
def missing() -> None:
    raise ValueError("not there")


def test_equal() -> None:
    assert sum([1]) == 2, "not equal\nat all"


def test_numbers() -> None:
    assert sum([1]) == 1


def test_set_up(missing: None) -> None:
    pass
