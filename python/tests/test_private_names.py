"""Names of Python and of libraries that are not public: each has a reason, and a test that
every supported version runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import snakepit_bridge

PACKAGE = Path(snakepit_bridge.__file__).parent
TESTS = Path(__file__).parent

# In Python's documentation, in spite of their names.
DOCUMENTED = {
    "_current_exceptions",
    "_current_frames",
    "_exit",
    "_field_defaults",
    "_fields",
    "_getframe",
    "_missing_",
    "_thread",
}
# By name: why, and the test that fails where it is gone.
REASONS = {
    # The module around each takes longer to import than what is needed of it.
    "_imp": ("tells frozen modules apart", "test_answers_need_nothing.py"),
    "_json": ("json imports re and enum", "test_json_text.py"),
    "_operator": ("hmac imports hashlib", "test_framed_access.py"),
    "_operator._compare_digest": ("hmac imports hashlib", "test_framed_access.py"),
    "_queue": ("queue imports threading and heapq", "test_threads.py"),
    "_signal": ("signal creates enumerations", "test_main_thread.py"),
    "_socket": ("socket imports selectors and enum", "test_import_budget.py"),
    "_weakref": ("weakref is more than the type of a reference", "test_held_locks.py"),
    # A cancel may raise only where a wait holds nothing.
    "_is_owned": ("whether a condition waits", "test_held_locks.py"),
    "_waiters": ("whether a condition waits", "test_held_locks.py"),
    "_is_gil_enabled": (
        "what another thread does can be seen",
        "test_free_threading.py",
    ),
    # `ident` is there before Python knows the thread by it (3.10).
    "_started": ("a thread that has just been started", "test_threads.py"),
    # `threading.enumerate` takes a lock whose holder may be what hangs.
    "_active": ("the names of threads in stacks", "test_process.py"),
    # `cancelling` is new in Python 3.11, and is also above 0 after a `CancelledError`.
    "_must_cancel": ("a task that cancels itself", "test_coroutine_run.py"),
    # A loop inside of another loop, whose thread reads meanwhile.
    "_get_running_loop": ("a loop is run in steps", "test_grpc_outbox.py"),
    "_set_running_loop": ("a loop is run in steps", "test_grpc_outbox.py"),
    # `typing` has no public name for what a special form is.
    "_name": ("Unpack, Required and the like", "test_typescript.py"),
    "_field_type": ("InitVar and ClassVar of a dataclass", "test_record_types.py"),
    # A forked worker does not run what its parent registered.
    "_cleanup": ("directories of the parent", "preload/test_exit_handlers.py"),
    "_clear": ("handlers of the parent", "preload/test_exit_handlers.py"),
    "_exit_function": ("handlers of the parent", "preload/test_exit_handlers.py"),
    "_finalizer_registry": ("handlers of the parent", "preload/test_exit_handlers.py"),
    "_registry": ("finalizers of the parent", "preload/test_exit_handlers.py"),
    "_run_after_forkers": ("what a fork renews", "preload/test_exit_handlers.py"),
    "_run_exitfuncs": ("the worker's own handlers", "preload/test_exit_handlers.py"),
    "_fd": ("the pipe of the resource tracker", "preload/test_fork_safety.py"),
    "_resource_tracker": ("who has created memory", "test_named_memory.py"),
    # OpenTelemetry has no public way to configure by variables, nor to see whether tools
    # have done so.
    "_OTelSDKConfigurator": ("configures by OTEL_*", "test_sdk.py"),
    "_TRACER_PROVIDER": ("tools have configured it", "test_tracing_without_sdk.py"),
    "opentelemetry.sdk._configuration": ("configures by OTEL_*", "test_sdk.py"),
    "opentelemetry._logs": ("exceptions as log records", "test_sdk.py"),
    # Ray has no public API for the jobs and the nodes of a cluster that it has not joined;
    # the tests of @snakepit/adapter-ray run on a real cluster.
    "_connect_and_get_accessor": ("the drivers of a cluster", None),
    "_private": ("the address of a cluster", None),
    "ray._private": ("the address of a cluster", None),
    "ray._raylet": ("asks before it joins", None),
}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def own_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def foreign_names(tree: ast.AST) -> Iterator[str]:
    """Yields what is imported from elsewhere, and attributes that may not be there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or "snakepit_bridge"
            if not module.startswith("snakepit_bridge"):
                names = [alias.name for alias in node.names if is_private(alias.name)]
                yield from (module, *(f"{module}.{name}" for name in names))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            texts = node.args[1:2] if node.func.id in ("getattr", "hasattr") else []
            for text in texts:
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    yield text.value


def attribute_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr


def test_every_private_name_has_its_reason() -> None:
    trees = [
        ast.parse(path.read_text(encoding="utf-8"))
        for path in PACKAGE.rglob("*.py")
        if "_gen" not in path.parts
    ]
    own = {name for tree in trees for name in own_names(tree)}
    attributes = {name for tree in trees for name in attribute_names(tree)} - own
    foreign = {name for tree in trees for name in foreign_names(tree)}
    private = {
        name
        for name in attributes | foreign
        if any(map(is_private, name.split("."))) and name not in DOCUMENTED
    }
    assert private == {*REASONS}


@pytest.mark.parametrize("name", [*REASONS])
def test_every_private_name_has_its_test(name: str) -> None:
    reason, test = REASONS[name]
    assert reason
    assert test is None or (TESTS / test).is_file()
