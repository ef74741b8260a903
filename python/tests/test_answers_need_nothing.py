"""After `ready` no answer needs a new module, file or descriptor.

Every kind of answer is tried in workers that have no descriptor left, beside modules with
the names of the standard library's, and after their environment was moved.
"""

from __future__ import annotations

import ast
import functools
import queue
import site
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from conftest import Host
from support.conversation import DEADLINE_S, Conversation
from support.fake_host import FakeHost

import snakepit_bridge
from snakepit_bridge import bridge_log, own_imports
from snakepit_bridge.boot.exit_status import FAILED
from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.own_imports import LATE
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode

BOTH_TRANSPORTS_IN_CHECK = True

LARGE = 1 << 17
# What the worker may have open, when its tools use up the rest.
MOST_DESCRIPTORS = 256

# They import nothing that is not built in: beside them is a module of every other name.
TOOLS = """\
import posix
import sys

import snakepit_bridge
from snakepit_bridge import current_call, progress, tool

KEPT = []
OPENED = []

class Text(str):
    pass

class Yields:
    def __await__(self):
        yield

def use_up():
    try:
        while True:
            KEPT.append(posix.dup(0))
    except OSError:
        return len(KEPT)

def note(event, arguments):
    if event not in ("import", "open"):
        return
    # The lines of a traceback are read where that is possible, and not needed.
    name = str(arguments[0])
    if event == "import" or not (name.endswith(".py") or name.startswith("<")):
        OPENED.append(f"{event} {name}")

@tool
def watch() -> None:
    sys.addaudithook(note)

@tool
def opened() -> list[str]:
    return OPENED

@tool
def imported() -> list[str]:
    return list(sys.modules)

@tool
def uses_up_descriptors() -> int:
    return use_up()

@tool
def fails_without_descriptors() -> None:
    while True:
        KEPT.append(posix.dup(0))

@tool
async def fails_without_descriptors_async() -> None:
    await Yields()
    while True:
        KEPT.append(posix.dup(0))

@tool
def fails() -> None:
    try:
        {}["inner"]
    except KeyError as error:
        raise ValueError("outer") from error

@tool
async def fails_async() -> None:
    await Yields()
    raise ValueError("outer") from KeyError("inner")

@tool
def add(first: int, second: int = 0) -> int:
    return first + second

@tool
def returns(name: str):
    import datetime
    return {
        "date": datetime.date(2026, 5, 4),
        "time": datetime.datetime(2026, 5, 4, 3, 2, 1),
        "duration": datetime.timedelta(seconds=1),
        "tuple": (1, "two"),
        "set": {1},
        "integer": 1 << 90,
        "text": Text("text"),
        "array": snakepit_bridge.NdArray("uint8", [2], b"ab"),
        "large": bytes(1 << 17),
        "object": object(),
        "inner object": {"a key": [object()]},
        "surrogate": ["\\ud800"],
    }[name]

@tool
def takes(value: object) -> str:
    return type(value).__name__

@tool
def counts():
    yield from range(3)
    return "end"

@tool
async def counts_async():
    for number in range(3):
        yield number
    yield snakepit_bridge.Result("end")

@tool
def large_chunk():
    yield bytes(1 << 17)

@tool
def fails_while_closed():
    try:
        yield 1
        posix.dup(-1)
    finally:
        {}["closed"]

@tool(input=int)
def total() -> int:
    return sum(current_call().input)

@tool
def asks() -> object:
    return current_call().host("answer")

@tool
async def asks_async() -> object:
    return await current_call().host_async("answer")

@tool
def reports() -> str:
    progress(0.5, "half")
    return "reported"

@tool
def remembers() -> int:
    session = current_call().session
    session["calls"] = session.get("calls", 0) + 1
    return session["calls"]

@tool
def spins() -> None:
    while True:
        pass
"""

BATCHES = """
@tool(batch=snakepit_bridge.Batch(max=2))
def doubled(numbers: list[int]) -> list[int]:
    return [2 * number for number in numbers]

@tool
def made() -> snakepit_bridge.Handle:
    return Text("held")
"""

# As if the worker had no moment without work.
WITHOUT_IDLE_MOMENTS = """\
import snakepit_bridge.own_imports
snakepit_bridge.own_imports.LATE = ()
"""

# One call is in the middle of an import of the bridge's until another one is over.
IN_AN_IMPORT = """
import threading
from snakepit_bridge.own_imports import isolated

begun, over = threading.Event(), threading.Event()

@tool
def imports() -> None:
    with isolated(imports=True):
        begun.set()
        over.wait()

@tool
def fails_meanwhile() -> None:
    begun.wait()
    fails_without_descriptors()

@tool
def goes_on() -> None:
    over.set()
"""

# A thread takes every descriptor in the moment in which there is one, and keeps it.
THAT_OPENS_FOR_EVER = """
import _thread

def open_for_ever():
    while True:
        try:
            KEPT.append(posix.open("/dev/null", 0))
        except OSError:
            pass

@tool
def begins_to_open() -> None:
    _thread.start_new_thread(open_for_ever, ())
"""

OWN_MODULES = """
import token

@tool
def owners() -> list[str]:
    import tokenize
    return [token.OWNER, tokenize.OWNER]
"""

# Tools get what the bridge has imported, too.
WITH_ALL = """
import asyncio
"""

# A module that notices who imports it.
NEIGHBOUR = """\
import posix
posix.write(2, b"imported the neighbour " + __name__.encode() + b"\\n")
raise RuntimeError("the neighbour " + __name__)
"""


# ---------------------------------------------------------------- kinds of answers


def fails(conversation: Conversation) -> None:
    failure = conversation.failure("fails")
    assert failure.kind == pb.FAILURE_KIND_TOOL_FAILED
    assert failure.message == "ValueError: outer"
    assert failure.error.cause.type == "KeyError"
    assert "Traceback" in failure.error.traceback


def fails_async(conversation: Conversation) -> None:
    failure = conversation.failure("fails_async")
    assert failure.message == "ValueError: outer"
    assert failure.error.cause.type == "KeyError"


def refuses_arguments(conversation: Conversation) -> None:
    failure = conversation.failure("add", {"frist": 1})
    assert failure.kind == pb.FAILURE_KIND_INVALID_ARGUMENTS
    assert "first" in failure.message
    assert conversation.failure("add", ["1"]).path == "$.first"


def knows_no_tool(conversation: Conversation) -> None:
    failure = conversation.failure("ad")
    assert failure.kind == pb.FAILURE_KIND_TOOL_NOT_FOUND
    assert "add" in failure.message


def has_another_shape(conversation: Conversation) -> None:
    failure = conversation.failure("add", [1], stream_credit=1)
    assert failure.kind == pb.FAILURE_KIND_WRONG_SHAPE


def returns(name: str, kind: str) -> Callable[[Conversation], None]:
    def answer(conversation: Conversation) -> None:
        frame = conversation.terminal(conversation.begin("returns", [name]))
        assert frame.HasField("result"), frame
        if name == "large":
            # Where there is room for it: in shared memory, or in the frame.
            in_memory = frame.result.HasField("attachment")
            assert in_memory or len(decode(frame.result.value)) == LARGE
        else:
            assert type(decode(frame.result.value)).__name__ == kind

    return answer


def refuses_result(name: str, path: str) -> Callable[[Conversation], None]:
    def answer(conversation: Conversation) -> None:
        failure = conversation.failure("returns", [name])
        assert failure.kind == pb.FAILURE_KIND_VALUE_NOT_TRANSFERABLE
        assert failure.path == path

    return answer


def takes(value: object, kind: str) -> Callable[[Conversation], None]:
    def answer(conversation: Conversation) -> None:
        assert conversation.call("takes", [value]) == kind

    return answer


def streams(tool: str) -> Callable[[Conversation], None]:
    def answer(conversation: Conversation) -> None:
        conversation.begin(tool, stream_credit=9)
        assert [conversation.chunk() for _ in range(3)] == [0, 1, 2]
        assert decode(conversation.receive().end.value) == "end"

    return answer


def streams_large_chunk(conversation: Conversation) -> None:
    conversation.begin("large_chunk", stream_credit=9, stream_bytes=1 << 20)
    chunk = conversation.receive().chunk
    assert chunk.HasField("attachment") or len(decode(chunk.value)) == LARGE
    assert conversation.receive().HasField("end")


def fails_while_closed(conversation: Conversation) -> None:
    call = conversation.begin("fails_while_closed", stream_credit=1)
    assert conversation.chunk() == 1
    conversation.cancel(call)
    assert conversation.terminal(call).failure.kind == pb.FAILURE_KIND_CANCELLED


def reads_input(conversation: Conversation) -> None:
    call = conversation.begin("total", has_input=True)
    assert conversation.receive().input_credit.chunks > 2
    for number in (1, 2):
        conversation.send(input=pb.Input(call_id=call, value=encode(number)))
    conversation.send(input_end=pb.InputEnd(call_id=call))
    assert decode(conversation.terminal(call).result.value) == 3


def asks(tool: str) -> Callable[[Conversation], None]:
    def answer(conversation: Conversation) -> None:
        call = conversation.begin(tool)
        host_call = conversation.receive().host_call
        assert host_call.function == "answer"
        answered = pb.HostResult(
            host_call_id=host_call.host_call_id, value=encode("answered")
        )
        conversation.send(host_result=answered)
        assert decode(conversation.terminal(call).result.value) == "answered"

    return answer


def reports(conversation: Conversation) -> None:
    call = conversation.begin("reports", wants_progress=True)
    assert conversation.receive().progress.fraction == 0.5
    assert decode(conversation.terminal(call).result.value) == "reported"


def remembers(conversation: Conversation) -> None:
    assert conversation.call("remembers", session_id="one") == 1
    assert conversation.call("remembers", session_id="one") == 2
    conversation.send(session_end=pb.SessionEnd(session_id="one"))


def is_cancelled(conversation: Conversation) -> None:
    call = conversation.begin("spins")
    conversation.cancel(call)
    assert conversation.terminal(call).failure.kind == pb.FAILURE_KIND_CANCELLED


def describes(conversation: Conversation) -> None:
    described = conversation.unary(
        "Describe", pb.DescribeRequest(), pb.DescribeResponse.FromString
    )
    assert "add" in [tool.name for tool in described.tools]


def runs_together(conversation: Conversation) -> None:
    calls = [conversation.begin("doubled", [number]) for number in (1, 2)]
    frames = [conversation.receive() for _ in calls]
    assert sorted(decode(frame.result.value) for frame in frames) == [2, 4]


def holds(conversation: Conversation) -> None:
    call = conversation.begin("made", session_id="held", allows_handles=True)
    assert conversation.terminal(call).HasField("result")
    conversation.send(session_end=pb.SessionEnd(session_id="held"))


KINDS: dict[str, Callable[[Conversation], None]] = {
    "a failure": fails,
    "a failure of a coroutine": fails_async,
    "refused arguments": refuses_arguments,
    "no such tool": knows_no_tool,
    "another shape": has_another_shape,
    "a date": returns("date", "date"),
    "a time": returns("time", "datetime"),
    "a duration": returns("duration", "str"),
    "a tuple": returns("tuple", "tuple"),
    "a set": returns("set", "set"),
    "a large integer": returns("integer", "int"),
    "a subclass of text": returns("text", "str"),
    "an array": returns("array", "ndarray"),
    "a large result": returns("large", "bytes"),
    "a refused result": refuses_result("object", "$"),
    "a refused part of a result": refuses_result("inner object", '$["a key"][0]'),
    "a result that msgpack refuses": refuses_result("surrogate", "$[0]"),
    "an argument of bytes": takes(b"some", "bytes"),
    "an argument that is a tuple": takes((1, 2), "tuple"),
    "a stream": streams("counts"),
    "a stream of a coroutine": streams("counts_async"),
    "a stream of a large chunk": streams_large_chunk,
    "a failure while a stream is closed": fails_while_closed,
    "an input stream": reads_input,
    "a call of the host": asks("asks"),
    "a call of the host by a coroutine": asks("asks_async"),
    "progress": reports,
    "a session": remembers,
    "a cancellation": is_cancelled,
    "a description": describes,
}


# -------------------------------------------------------------------- conditions


def other_pythons() -> list[Path]:
    """Returns what is installed beside the Python of the tests, one of each version."""
    beside = Path(sys.base_prefix).parent.glob("*/bin/python3.1[0-9]")
    found = {file.name: file for file in beside}
    found.pop(f"python3.{sys.version_info.minor}", None)
    return sorted(found.values())


THIS = Path(sys.executable)
EVERY_PYTHON = pytest.mark.parametrize(
    "python",
    [
        THIS,
        *(pytest.param(each, marks=pytest.mark.thorough) for each in other_pythons()),
    ],
    ids=lambda path: path.name,
)


@pytest.fixture
def python() -> Path:
    """What the workers of a test run with."""
    return THIS


@pytest.fixture
def worker(
    host: Host, tmp_path: Path, transport: str, python: Path, movable: Path
) -> Callable[..., FakeHost]:
    """Makes hosts of `TOOLS` whose workers can share memory, not yet started."""
    if python != THIS and transport == "grpc":
        pytest.skip("its native code is for the Python of the tests")

    def make(tools: str = TOOLS, **payload: Any) -> FakeHost:
        directory = tmp_path / "memory"
        directory.mkdir(exist_ok=True)
        shared = {
            "directory": str(directory),
            "fromBytes": 1 << 16,
            "limitBytes": 1 << 30,
        }
        made = host(tools, **{"sharedMemory": shared, **payload})
        if python == THIS:
            return made
        made.interpreter = str(python)
        return in_environment(made, movable)

    return make


def idle(conversation: Conversation) -> None:
    """Waits until the worker had so many moments without work that nothing is late."""
    until = time.monotonic() + DEADLINE_S
    # Others may be where the tools do not see them.
    late = {name for name in LATE if name.startswith("snakepit_bridge.")}
    while missing := late - set(conversation.call("imported")):
        assert time.monotonic() < until, missing


def limit_descriptors(host: FakeHost, most: int = MOST_DESCRIPTORS) -> None:
    if sys.platform != "linux":
        pytest.skip("the limit of another process cannot be set here")
    import resource

    resource.prlimit(host.pid, resource.RLIMIT_NOFILE, (most, most))


def beside_neighbours(directory: Path, *names: str) -> None:
    for name in names:
        (directory / f"{name}.py").write_text(NEIGHBOUR)


SHADOWED = sorted(sys.stdlib_module_names)


@pytest.fixture
def movable(tmp_path: Path) -> Path:
    """A directory with the bridge and what it depends on."""
    environment = tmp_path / "environment"
    environment.mkdir()
    places = [Path(place) for place in site.getsitepackages()]
    source = Path(snakepit_bridge.__file__).parent
    (environment / "snakepit_bridge").symlink_to(source)
    for package in ("msgpack", "google", "grpc", "grpc_health", "typing_extensions.py"):
        for place in places:
            if (place / package).exists():
                (environment / package).symlink_to(place / package)
    return environment


def in_environment(host: FakeHost, environment: Path) -> FakeHost:
    # Without the packages of the environment of the tests.
    host.program = ["-S", *host.program]
    host.environment = {**host.environment, "PYTHONPATH": str(environment)}
    return host


def test_a_call_that_uses_up_the_descriptors_fails_with_its_own_error(
    worker: Callable[..., FakeHost],
) -> None:
    for tool in ("fails_without_descriptors", "fails_without_descriptors_async"):
        for calls in (1, 2):
            host = worker(callsPerWorker=calls).start()
            limit_descriptors(host)
            failure = host.converse().failure(tool)
            assert failure.message == "OSError: [Errno 24] Too many open files"
            assert f"in {tool}" in failure.error.traceback
            # Whether or not anything was open to read the lines of the source.
            assert failure.error.frames[-1].function == tool


def test_no_call_uses_up_the_descriptors_that_are_kept_while_another_imports(
    worker: Callable[..., FakeHost],
) -> None:
    host = worker(TOOLS + IN_AN_IMPORT, callsPerWorker=3).start()
    limit_descriptors(host)
    conversation = host.converse()
    importing = conversation.begin("imports")
    failure = conversation.failure("fails_meanwhile")
    assert failure.message == "OSError: [Errno 24] Too many open files"
    assert "in fails_meanwhile" in failure.error.traceback
    conversation.begin("goes_on")
    assert conversation.terminal(importing).HasField("result")


@EVERY_PYTHON
@pytest.mark.parametrize("is_idle", [False, True], ids=["at once", "after idling"])
def test_no_answer_needs_a_descriptor(
    worker: Callable[..., FakeHost], is_idle: bool
) -> None:
    host = worker(TOOLS if is_idle else TOOLS + WITHOUT_IDLE_MOMENTS).start()
    conversation = host.converse()
    if is_idle:
        idle(conversation)
    limit_descriptors(host)
    assert conversation.call("uses_up_descriptors") > 0
    give_every_answer(conversation, host)


@EVERY_PYTHON
@pytest.mark.parametrize("is_idle", [False, True], ids=["at once", "after idling"])
def test_no_answer_imports_a_neighbour_of_the_tools(
    worker: Callable[..., FakeHost], tmp_path: Path, is_idle: bool
) -> None:
    beside_neighbours(tmp_path, *SHADOWED)
    host = worker(TOOLS if is_idle else TOOLS + WITHOUT_IDLE_MOMENTS).start()
    conversation = host.converse()
    if is_idle:
        idle(conversation)
    give_every_answer(conversation, host)
    host.signal(15)
    assert host.exit_status() == 0
    assert "neighbour" not in host.stderr()


@EVERY_PYTHON
def test_no_answer_needs_the_environment_once_the_worker_was_idle(
    worker: Callable[..., FakeHost], movable: Path
) -> None:
    host = in_environment(worker(), movable).start()
    conversation = host.converse()
    idle(conversation)
    movable.rename(movable.with_name("moved"))
    give_every_answer(conversation, host)
    host.signal(15)
    assert host.exit_status() == 0
    assert host.stderr() == ""


@pytest.mark.parametrize("calls", [1, 2])
def test_no_answer_imports_or_opens_anything_once_the_worker_was_idle(
    worker: Callable[..., FakeHost], tmp_path: Path, calls: int
) -> None:
    handles = {"imports": [], "limit": 10}
    host = worker(TOOLS + BATCHES, callsPerWorker=calls, handles=handles).start()
    conversation = host.converse()
    idle(conversation)
    conversation.call("watch")
    more = {"a batch": runs_together, "a handle": holds}
    for kind, answer in {**KINDS, **more}.items():
        answer(conversation)
        opened = conversation.call("opened")
        opened = [each for each in opened if str(tmp_path / "memory") not in each]
        assert opened == [], kind


def give_every_answer(conversation: Conversation, host: FakeHost) -> None:
    wrong: dict[str, str] = {}
    for kind, answer in KINDS.items():
        try:
            answer(conversation)
        except (EOFError, grpc.RpcError, queue.Empty) as error:
            wrong[kind] = repr(error)
            # It has ended, or does not answer.
            break
        except AssertionError as error:
            wrong[kind] = str(error)
            conversation.rest()
    assert wrong == {}, host.stderr()


# ------------------------------------------------------------- all imports are known

PACKAGE = Path(own_imports.__file__).parent
# What runs in other programs, or before a worker is ready or only with an option for
# development; and where a worker looks for what its tools have.
ELSEWHERE = (
    "cli/",
    "cluster/",
    "development/",
    "forking/",
    "preload/",
    "pytest_plugin.py",
    "testing/",
    "typescript/",
    "__main__.py",
)
# What functions import before the worker is ready.
BEFORE_READY = {
    "boot/first_steps.py",
    "bridge/bridge_thread.py:_call_page",
    "bridge/bridge_thread.py:_shared_memory",
    "bridge/bridge_thread.py:__init__",
    "bridge/transport.py:load_transport",
    "bridge/serving.py",
    "calls/run/runner.py",
    "telemetry/sdk.py:configure",
    "threads/main_thread.py:loop",
    "tools/annotations/classes.py",
    "tools/annotations/compile.py",
    "tools/annotations/models.py",
    "tools/declaration.py",
    "tools/loading.py",
    "tools/signature.py",
    "tools/tool.py",
}
# What comes with a module of `LATE`, or whenever it is asked for is there: in a coroutine,
# or in every interpreter.
THERE = {
    "__init__.py:__getattr__",
    "boot/control_channel.py:_functions",
    "calls/run/batches.py:_end_unbegun",
    "calls/cancel/cancellation.py:wait_async",
    "message_classes.py",
}
# What is in the environment of the tools. Answers do without it: arrays have another class,
# and there are no spans.
OF_THE_TOOLS = {
    "numpy",
    # For log records of exceptions, which its user may choose.
    "opentelemetry",
    "opentelemetry.sdk",
    "snakepit_bridge.telemetry.otel_tracing",
}


@functools.cache
def late_imports() -> frozenset[tuple[str, str]]:
    """Returns what functions import, with the place: `calls/context/call.py:host`."""
    return frozenset(found_imports())


def found_imports() -> Iterator[tuple[str, str]]:
    for file in sorted(PACKAGE.rglob("*.py")):
        place = file.relative_to(PACKAGE).as_posix()
        if not place.startswith(ELSEWHERE):
            for function in ast.walk(ast.parse(file.read_text())):
                if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    for node in ast.walk(function):
                        for name in imported_by(node):
                            yield name, f"{place}:{function.name}"


def imported_by(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return []


def test_every_import_of_a_function_is_made_before_a_call_needs_it() -> None:
    unknown = set(late_imports())
    for name, place in list(unknown):
        known = {place, place.partition(":")[0]} & (BEFORE_READY | THERE)
        if known or name in LATE or name in OF_THE_TOOLS:
            unknown.remove((name, place))
    assert unknown == set()


def test_nothing_of_pythons_is_imported_by_a_function_but_by_its_name() -> None:
    # `standard("json")` finds Python's, and a statement what the tools have.
    direct = {
        (name, place)
        for name, place in late_imports()
        if name.partition(".")[0] in sys.stdlib_module_names
        and not {place, place.partition(":")[0]} & THERE
    }
    assert direct == set()


def test_no_module_of_pythons_is_looked_up_among_those_of_the_tools() -> None:
    # `loaded("logging")` finds Python's also where the tools have another one.
    looked_up = {
        (name, file.relative_to(PACKAGE).as_posix())
        for file in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        for name in looked_up_by(node)
        if name.partition(".")[0] in sys.stdlib_module_names
    }
    # Not a neighbour of the tools either: the loop is the worker's. In a signal handler,
    # nothing more is done than needed.
    assert looked_up == {
        ("asyncio", "bridge/serving.py"),
        ("asyncio.exceptions", "calls/cancel/cancel_signal.py"),
        ("multiprocessing.spawn", "named_memory.py"),
    }


def looked_up_by(node: ast.AST) -> list[str]:
    """Returns the names in `sys.modules["x"]`, `sys.modules.get("x")`, `"x" in sys.modules`."""
    match node:
        case ast.Subscript(value=modules, slice=ast.Constant(value=str()) as name):
            pass
        case ast.Call(
            func=ast.Attribute(value=modules), args=[ast.Constant() as name, *_]
        ):
            pass
        case ast.Compare(left=ast.Constant() as name, comparators=[modules]):
            pass
        case _:
            return []
    is_one = ast.unparse(modules) == "sys.modules" and isinstance(name.value, str)
    return [str(name.value)] if is_one else []


def test_public_names_are_there_when_a_call_asks_for_them_first(
    worker: Callable[..., FakeHost],
) -> None:
    host = worker().start()
    conversation = host.converse()
    idle(conversation)
    imported = conversation.call("imported")
    homes = {f"snakepit_bridge.{home}" for home in snakepit_bridge._HOMES.values()}
    assert homes <= set(imported)


def test_tools_get_their_own_modules_as_in_any_program(
    worker: Callable[..., FakeHost], tmp_path: Path, transport: str
) -> None:
    if transport == "grpc":
        pytest.skip("gRPC has imported Python's before there are tools")
    # One is imported with the tools, one after the bridge has imported Python's.
    for name in ("token", "tokenize"):
        (tmp_path / f"{name}.py").write_text('OWNER = "the tools"')
    host = worker(TOOLS + OWN_MODULES).start()
    conversation = host.converse()
    idle(conversation)
    assert conversation.call("owners") == ["the tools", "the tools"]
    failure = conversation.failure("fails")
    assert "Traceback" in failure.error.traceback
    assert 'raise ValueError("outer") from error' in failure.error.traceback
    assert conversation.call("owners") == ["the tools", "the tools"]


# Each alone: the others may have hidden what one does.
@pytest.mark.thorough
def test_no_single_neighbour_changes_an_answer(
    worker: Callable[..., FakeHost], tmp_path: Path, transport: str
) -> None:
    if transport == "grpc":
        pytest.skip("gRPC has imported Python's before there are tools")
    host = worker(TOOLS + WITH_ALL).start()
    conversation = host.converse()
    idle(conversation)
    imported = set(conversation.call("imported")) & set(SHADOWED)
    assert len(imported) > 50
    for name in sorted(imported):
        beside_neighbours(tmp_path, name)
        host = worker().start()
        conversation = host.converse()
        fails(conversation)
        fails_async(conversation)
        refuses_arguments(conversation)
        host.signal(15)
        assert host.exit_status() == 0
        assert "neighbour" not in host.stderr(), name
        (tmp_path / f"{name}.py").unlink()


def has_tables_of_threads(python: Path) -> bool:
    """Returns whether a thread may have descriptors of its own: not before Python 3.12, nor
    in most containers."""
    command = [str(python), "-c", "import os; os.unshare(os.CLONE_FILES)"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_no_thread_takes_the_descriptors_that_are_kept(
    worker: Callable[..., FakeHost], movable: Path, transport: str
) -> None:
    if transport == "grpc":
        pytest.skip("its native code is for the Python of the tests")
    pythons = [*other_pythons(), THIS]
    python = next(filter(has_tables_of_threads, reversed(pythons)), None)
    if python is None:
        pytest.skip("no thread has descriptors of its own here")
    tools = TOOLS + WITHOUT_IDLE_MOMENTS + THAT_OPENS_FOR_EVER
    host = in_environment(worker(tools), movable)
    host.interpreter = str(python)
    host.start()
    limit_descriptors(host)
    conversation = host.converse()
    conversation.call("begins_to_open")
    conversation.call("uses_up_descriptors")
    give_every_answer(conversation, host)


# ------------------------------------------------------- what is left without anything


def test_a_failure_that_cannot_be_described_ends_its_call(
    worker: Callable[..., FakeHost], movable: Path
) -> None:
    host = in_environment(worker(TOOLS + WITHOUT_IDLE_MOMENTS), movable).start()
    conversation = host.converse()
    assert conversation.call("add", [1]) == 1
    movable.rename(movable.with_name("moved"))
    for tool in ("fails", "fails_async"):
        failure = conversation.failure(tool)
        assert failure.kind == pb.FAILURE_KIND_TOOL_FAILED
        assert failure.began
        assert failure.message == (
            "ValueError: outer (no more can be reported of it: ModuleNotFoundError)"
        )
    failure = conversation.failure("add", ["1"])
    assert failure.message.startswith("ArgumentsInvalid: ")
    assert conversation.call("add", [1, 2]) == 3


def test_a_worker_that_cannot_read_what_the_host_sends_ends(
    worker: Callable[..., FakeHost], movable: Path, transport: str
) -> None:
    if transport == "grpc":
        pytest.skip("gRPC reads everything by protobuf")
    host = in_environment(worker(TOOLS + WITHOUT_IDLE_MOMENTS), movable).start()
    conversation = host.converse()
    assert conversation.call("add", [1]) == 1
    movable.rename(movable.with_name("moved"))
    conversation.begin("counts", stream_credit=1)
    with pytest.raises(EOFError):
        conversation.receive()
    assert host.exit_status() != 0
    assert "ModuleNotFoundError" in host.stderr()


WITHOUT_MEMORY = """
import resource

@tool
def fails_without_memory() -> None:
    pages = int(open("/proc/self/statm").read().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize(), -1))
    for size in (4096, 64):
        try:
            while True:
                KEPT.append(bytearray(size))
        except MemoryError:
            pass
    raise KeyError("no memory")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("calls", [1, 2])
def test_a_call_that_no_memory_is_left_for_is_answered_or_ends_its_worker(
    worker: Callable[..., FakeHost], calls: int
) -> None:
    host = worker(TOOLS + WITHOUT_MEMORY, callsPerWorker=calls).start()
    conversation = host.converse()
    call = conversation.begin("fails_without_memory")
    try:
        failure = conversation.terminal(call).failure
        assert failure.message.startswith("KeyError: 'no memory'")
    except (EOFError, grpc.RpcError):
        assert host.exit_status() == FAILED
        assert "this worker ends" in host.stderr()


def test_what_the_bridge_logs_is_on_stderr_where_there_is_no_logging(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = own_imports.standard("no_such_module")
    monkeypatch.setattr(bridge_log, "_logging", missing)
    log = bridge_log.logger("bridge")
    log.warning("%d calls", 2)
    log.error("none")
    try:
        raise KeyError("lost")
    except KeyError:
        log.exception("a hook failed")
    written = "bridge: 2 calls\nbridge: none\nbridge: a hook failed (KeyError)\n"
    assert capsys.readouterr().err == written
