"""Annotations of tensors: which classes they are, and what is made of the array that arrives."""

import sys
from types import ModuleType
from typing import Any

import numpy
import pytest

from snakepit_bridge.tools.annotations.check import Mismatch
from snakepit_bridge.tools.annotations.library_types import library_check


class Abstract:
    """Like `jax.Array`, which has no method of its subclasses."""


class Shared(Abstract):
    """Like an array of jax, or a tensor of torch."""

    def __init__(self, array: Any) -> None:
        if array.dtype == "float16":
            raise TypeError("no float16")
        self.array = array

    def __dlpack__(self) -> None: ...


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Returns a module in the place of jax."""
    jax, jax_numpy = ModuleType("jax"), ModuleType("jax.numpy")
    monkeypatch.setitem(sys.modules, "jax", jax)
    monkeypatch.setitem(sys.modules, "jax.numpy", jax_numpy)
    monkeypatch.setattr(Abstract, "__module__", "jax")
    monkeypatch.setattr(Shared, "__module__", "jax")
    vars(jax)["Array"] = Abstract
    vars(jax_numpy)["from_dlpack"] = Shared
    return jax


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("kind", [Abstract, Shared])
def test_an_array_becomes_a_tensor_over_the_same_memory(kind: type) -> None:
    check = library_check(kind)
    assert check is not None
    array = numpy.zeros(3, "float32")
    tensor = check.check(array, None)
    assert type(tensor) is Shared
    assert tensor.array is array
    assert check.check(tensor, None) is tensor


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("value", [[1.0], numpy.zeros(1, "float16")])
def test_what_the_library_does_not_take_is_refused(value: Any) -> None:
    check = library_check(Abstract)
    assert check is not None
    with pytest.raises(Mismatch):
        check.check(value, None)


def test_a_class_of_a_library_that_takes_none_is_no_tensor() -> None:
    assert library_check(Shared) is None
    assert library_check(Abstract) is None
