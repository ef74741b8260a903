"""The modules that a file imports, found without running it."""

from __future__ import annotations

import ast
from importlib.machinery import PathFinder

__all__ = ["imports_of"]


def imports_of(path: str, directories: list[str]) -> set[str]:
    """Returns the names of the modules that a file imports, also late, and those that
    its neighbours import for it.
    """
    names: set[str] = set()
    files = [path]
    for file in files:
        try:
            with open(file, "rb") as source:
                tree = ast.parse(source.read())
        except (OSError, SyntaxError, ValueError):
            continue  # It is reported when it is imported.
        new = set(_imported(tree)) - names
        names |= new
        for name in new:
            spec = PathFinder.find_spec(name, directories)
            origin = None if spec is None else spec.origin
            if origin is not None and origin.endswith(".py"):
                files.append(origin)
    return names


def _imported(tree: ast.AST) -> list[str]:
    names = []
    nodes: list[ast.AST] = [tree]
    for node in nodes:
        if isinstance(node, ast.Import):
            names += [each.name.partition(".")[0] for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level == 0 and node.module:
                names.append(node.module.partition(".")[0])
        elif isinstance(node, ast.If) and _is_type_checking(node.test):
            nodes += node.orelse  # The rest is never run.
        else:
            nodes += ast.iter_child_nodes(node)
    return names


def _is_type_checking(test: ast.expr) -> bool:
    name = getattr(test, "id", None) or getattr(test, "attr", None)
    return isinstance(test, (ast.Name, ast.Attribute)) and name == "TYPE_CHECKING"
