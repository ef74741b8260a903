"""What a tool does with event loops leaves the worker's other calls alone."""

from __future__ import annotations

from conftest import Host

BOTH_TRANSPORTS_IN_CHECK = True

TOOLS = """
import asyncio
from snakepit_bridge import tool

async def slept(seconds):
    await asyncio.sleep(seconds)
    return seconds

@tool
def run(seconds: float) -> float:
    return asyncio.run(slept(seconds))

@tool
def close_own() -> None:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(slept(0))
    loop.close()

OWN = []

@tool
def set_own() -> None:
    OWN.append(asyncio.new_event_loop())
    asyncio.set_event_loop(OWN[0])

@tool
def own_is_current() -> bool:
    return asyncio.get_event_loop() is OWN[0]

@tool
def run_current(seconds: float) -> float:
    return asyncio.get_event_loop().run_until_complete(slept(seconds))

# As nest_asyncio does it.
@tool
async def nested(seconds: float) -> float:
    loop, outer = asyncio.get_running_loop(), asyncio.current_task()
    awaited = len(loop._ready)
    asyncio.tasks._leave_task(loop, outer)
    try:
        inner = loop.create_task(slept(seconds))
        while not inner.done():
            loop._run_once()
            if loop._stopping:
                raise RuntimeError("the loop was stopped")
        return inner.result()
    finally:
        # The outer run has counted its callbacks.
        while len(loop._ready) < awaited:
            loop.call_soon(int)
        asyncio.tasks._enter_task(loop, outer)
"""

LATE = """
from snakepit_bridge import tool

@tool
def run() -> int:
    import asyncio
    async def one():
        return 1
    return asyncio.run(one())

@tool
def run_current() -> int:
    import asyncio
    return asyncio.get_event_loop().run_until_complete(asyncio.sleep(0, 2))
"""


def test_after_asyncio_run_the_next_calls_have_a_current_event_loop(
    start: Host,
) -> None:
    conversation = start(TOOLS).converse()
    for before in ("run_current", "run", "close_own", "nested"):
        given = [] if before == "close_own" else [0.001]
        assert conversation.call(before, given) == (given[0] if given else None)
        assert conversation.call("run_current", [0.002]) == 0.002


def test_so_have_calls_that_wait_behind_it(start: Host) -> None:
    conversation = start(TOOLS).converse()
    names = ["run", "run_current"] * 20
    begun = [conversation.begin(name, [0.0]) for name in names]
    ends = [conversation.terminal(each).WhichOneof("frame") for each in begun]
    assert ends == ["result"] * len(begun)


def test_so_have_calls_after_the_first_that_imports_asyncio(start: Host) -> None:
    conversation = start(LATE).converse()
    for _ in range(3):
        assert conversation.call("run") == 1
        assert conversation.call("run_current") == 2


def test_a_loop_that_a_tool_has_set_stays_current(start: Host) -> None:
    conversation = start(TOOLS).converse()
    conversation.call("set_own")
    assert conversation.call("own_is_current") is True
    assert conversation.call("own_is_current") is True


def test_a_tool_may_run_the_loop_within_the_loop_from_its_first_call_on(
    start: Host,
) -> None:
    conversation = start(TOOLS).converse()
    assert conversation.call("nested", [0.01]) == 0.01


def test_work_that_arrives_meanwhile_waits_until_a_nested_run_is_over(
    start: Host,
) -> None:
    conversation = start(TOOLS).converse()
    for _ in range(10):
        names = ["nested", "run", "nested", "run"]
        begun = [conversation.begin(name, [0.003]) for name in names]
        ends = [conversation.receive() for _ in begun]
        assert [each.WhichOneof("frame") for each in ends] == ["result"] * 4, ends


def test_threads_that_are_coroutines_are_refused_by_name(host: Host) -> None:
    for library, remedy in (("gevent", "patch_all"), ("eventlet", "monkey_patch")):
        patched = f"""
import _thread
from snakepit_bridge import tool

def start_new_thread(*_):
    raise SystemExit

# As its patch does.
start_new_thread.__module__ = "{library}.thread"
_thread.start_new_thread = start_new_thread

@tool
def one() -> int:
    return 1
"""
        failed = host(patched).failed()
        assert failed["code"] == "TOOLS_IMPORT_FAILED"
        assert f"{library} has replaced Python's threads" in failed["message"]
        assert f"{remedy}(thread=False" in failed["message"]
