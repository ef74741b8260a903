"""The types that TypeScript has for objects that stay in the worker."""

from __future__ import annotations

import sqlite3
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from snakepit_bridge import Handle, tool
from snakepit_bridge.tools.toolbox import Toolbox
from snakepit_bridge.typescript.tools_module import tools_module


def toolbox(*tools: Any) -> Toolbox:
    module = types.ModuleType("handles_of_a_test")
    for i, each in enumerate(tools):
        setattr(module, f"tool_{i}", each)
    return Toolbox(module)


@tool
def connect(path: str) -> Handle[sqlite3.Connection]:
    return sqlite3.connect(path)


@tool
def changes(of: Handle[sqlite3.Connection]) -> int:
    return of.total_changes


@tool
def rows() -> Iterator[Handle[sqlite3.Row]]:
    yield from ()


def test_the_types_for_typescript_have_handles() -> None:
    text = tools_module(toolbox(connect, changes, rows).tools.values(), "types")
    assert 'import type { Handle } from "@snakepit/adapter-python";' in text
    assert "changes(args: { of: Handle } | readonly [of: Handle]): number" in text
    assert "): AsyncIterable<Handle>;" in " ".join(text.split())


class Book:
    def __init__(self, title: str) -> None:
        self.title = title


@dataclass
class Label:
    text: str
    book: Handle[Book] | None = None


class Shelf:
    """Where books are."""

    label: Label
    made: ClassVar[int] = 0
    _secret: str
    colors = ("red",)

    def add(self, title: str, *more: str, copies: int = 1) -> None:
        """Adds books."""

    def at(self, place: int = 0) -> Book | None:
        return None

    def books(self) -> Iterator[Book]:
        yield Book("a")

    def copy(self) -> Shelf:
        return self

    def database(self) -> sqlite3.Connection:
        return sqlite3.connect(":memory:")

    async def later(self) -> int:
        return 1

    def untyped(self, what):  # type: ignore[no-untyped-def]
        return what

    @property
    def size(self) -> int:
        return 1

    @staticmethod
    def named(name: str) -> Label:
        return Label(name)

    def _hidden(self) -> None: ...


class Opened(sqlite3.Connection):
    def public(self) -> int:
        return 1


SHELF = """
/** Where books are. */
export interface Shelf {
  readonly label: Label;
  readonly made: number;
  readonly colors: unknown;
  /** Adds books. */
  add(title: string, ...rest: Array<string>): null;
  at(place?: number | bigint): Handle<Book> | null;
  books(): Handle<Iterable<Handle<Book>>>;
  copy(): Handle<Shelf>;
  database(): Handle;
  later(): Handle;
  untyped(what: unknown): unknown;
  readonly size: number;
  named(name: string): Label;
}

export interface Book {
  readonly title: unknown;
}

export type Label = { text: string; book: Handle<Book> | null };
"""


def test_a_class_of_ones_own_is_an_interface_in_typescript() -> None:
    @tool
    def shelf(connection: Handle[Opened]) -> Handle[Shelf]:
        return Shelf()

    text = tools_module(toolbox(shelf).tools.values(), "types", safe_integers=True)
    assert "{ connection: Handle }" in text
    assert text.endswith(f"}};\n{SHELF}")


def test_the_type_of_a_handle_has_a_name_of_its_own() -> None:
    @tool
    def relabel(label: Label) -> Handle[Label]:
        return label

    text = tools_module(toolbox(relabel).tools.values(), "types")
    assert "label: Label }" in text
    assert "Handle<Label2>;" in text
    assert "export interface Label2 {" in text
