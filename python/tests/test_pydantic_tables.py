"""Tables as fields of models: pydantic takes only instances of their class."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, BeforeValidator, ConfigDict

from snakepit_bridge.tools.annotations.check import Mismatch
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.typescript.type_writer import TypeWriter


class DataFrame:
    """Stands for the class of pandas, which these tests do not install."""


def converted(value: Any) -> DataFrame:
    return DataFrame()


class Report(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    table: DataFrame


class Converting(Report):
    table: Annotated[DataFrame, BeforeValidator(converted)]


@pytest.fixture(autouse=True)
def pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("pandas")
    module.DataFrame = DataFrame
    monkeypatch.setitem(sys.modules, "pandas", module)


def fields(annotation: Any, *, sent: bool) -> list[str]:
    writer = TypeWriter(sent=sent)
    writer.written(compile_annotation(annotation, answered=not sent))
    return writer.fields(next(iter(writer.objects.values())))


@pytest.mark.parametrize("model", [Report, Converting])
def test_the_type_of_an_argument_promises_no_conversion(model: type) -> None:
    assert fields(model, sent=True) == ["table: unknown"]
    assert fields(model, sent=False) == ["table: ArrowTable"]


def test_only_a_validator_converts() -> None:
    arrived = {"table": object()}
    assert type(compile_annotation(Converting).check(arrived, None).table) is DataFrame
    with pytest.raises(Mismatch, match="instance of DataFrame"):
        compile_annotation(Report).check(arrived, None)


def test_a_table_that_is_a_parameter_is_typed() -> None:
    assert TypeWriter(sent=True).written(compile_annotation(DataFrame)) == "ArrowTable"
