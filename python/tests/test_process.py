"""A worker as a process: its signals, its children, its standing with the kernel."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import TOOLS, Host

from snakepit_bridge import __version__
from snakepit_bridge.values.decode import decode

FORKS = """
    import multiprocessing
    import os
    import signal
    import subprocess
    import sys
    import time
    from snakepit_bridge import tool

    @tool
    def forks(children: int) -> list[int]:
        statuses = []
        for _ in range(children):
            child = os.fork()
            if child == 0:
                os._exit(7)
            statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        return statuses

    @tool
    def terminates_children(children: int) -> list[int | None]:
        context = multiprocessing.get_context("fork")
        ends = []
        for _ in range(children):
            child = context.Process(target=time.sleep, args=(600,))
            child.start()
            child.terminate()
            child.join()
            ends.append(child.exitcode)
        return ends

    @tool
    def child_with_a_handler() -> int:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGTERM, lambda *_: os._exit(9))
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(600)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    @tool
    def variable_of_a_child() -> str:
        program = "import os; print(os.environ.get('GRPC_ENABLE_FORK_SUPPORT'))"
        return subprocess.check_output([sys.executable, "-c", program], text=True)

    @tool
    def descriptors_of_a_child() -> str:
        program = "ls -l /proc/self/fd"
        return subprocess.check_output(program, shell=True, text=True, close_fds=False)

    @tool
    def pid() -> int:
        return os.getpid()
"""

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_forked_children_may_outlive_their_call_and_exit(start: Host) -> None:
    worker = start(FORKS)
    assert worker.converse().call("forks", [50]) == [7] * 50
    assert worker.stderr() == ""


def test_a_forked_child_obeys_sigterm(start: Host) -> None:
    ends = start(FORKS).converse().call("terminates_children", [50])
    assert ends == [-signal.SIGTERM] * 50


def test_a_sigterm_to_a_child_does_not_reach_the_worker(start: Host) -> None:
    conversation = start(FORKS).converse()
    assert conversation.call("child_with_a_handler") == 9
    assert conversation.call("forks", [1]) == [7]


def test_a_fork_does_not_untie_the_worker_from_its_host(start: Host) -> None:
    worker = start(FORKS)
    worker.converse().call("forks", [5])
    worker.lifeline.close()
    assert worker.exit_status() == -signal.SIGKILL


def test_programs_that_tools_start_see_their_own_environment(start: Host) -> None:
    assert start(FORKS).converse().call("variable_of_a_child") == "None\n"


@linux
def test_programs_that_tools_start_inherit_none_of_our_descriptors(
    start: Host,
) -> None:
    descriptors = start(FORKS).converse().call("descriptors_of_a_child")
    assert "socket:" not in descriptors
    assert "anon_inode:" not in descriptors
    assert "pipe:" in descriptors


@linux
def test_the_kernel_kills_a_worker_before_its_host(start: Host) -> None:
    worker = start("greeter")
    with open(f"/proc/{worker.pid}/oom_score_adj") as score:
        assert int(score.read()) >= 500


DUMPS = """
    import ctypes
    import os
    import signal
    import time
    from snakepit_bridge import tool

    @tool
    def holds_the_gil() -> None:
        # PyDLL keeps the GIL while it calls: no other thread runs any Python.
        libc = ctypes.PyDLL(None)
        libc.kill(os.getpid(), int(signal.SIGQUIT))
        libc.sleep(600)

    @tool
    def sleeps() -> None:
        os.write(2, b"begun")
        time.sleep(600)

    @tool
    def reads_in_c(path: str) -> int:
        descriptor = os.open(path, os.O_RDONLY)
        os.write(2, b"begun")
        return ctypes.CDLL(None).read(descriptor, ctypes.create_string_buffer(1), 1)

    @tool
    def child_by_dump_signal() -> list[int]:
        ends = []
        for number in (signal.SIGUSR1, signal.SIGQUIT):
            child = os.fork()
            if child == 0:
                os.kill(os.getpid(), number)
                time.sleep(600)
            ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        return ends
"""


def test_the_last_dump_signal_writes_every_stack_even_where_the_gil_is_held(
    start: Host,
) -> None:
    worker = start(DUMPS)
    worker.converse().begin("holds_the_gil")
    worker.wait_for_stderr("in holds_the_gil")
    worker.wait_for_stderr("bridge_thread.py")


def test_the_stacks_that_were_asked_for_are_between_two_lines_that_name_the_threads(
    start: Host,
) -> None:
    worker = start(DUMPS)
    worker.converse().begin("sleeps")
    worker.wait_for_stderr("begun")
    worker.signal(signal.SIGUSR1)
    worker.wait_for_stderr("\nsnakepit stacks end\n")
    _, _, begun = worker.stderr().partition("snakepit stacks begin ")
    assert "in sleeps" in begun
    names, *stacks = begun.split("\n")
    named = re.findall(r"(0x[0-9a-f]+)='([^']*)'", names)
    assert "MainThread" in [name for _, name in named]
    written = [
        int(match[0], 16)
        for line in stacks
        if (match := re.findall(r"hread (0x[0-9a-f]+) .*call first\):$", line))
    ]
    assert {int(thread, 16) for thread, _ in named} <= set(written)


def test_a_system_call_of_code_in_c_goes_on_after_a_dump(
    start: Host, tmp_path: Path
) -> None:
    # Such code often takes EINTR for a failure.
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    worker = start(DUMPS)
    conversation = worker.converse()
    call = conversation.begin("reads_in_c", [str(fifo)])
    with fifo.open("wb", buffering=0) as writer:
        worker.wait_for_stderr("begun")
        worker.signal(signal.SIGUSR1)
        worker.wait_for_stderr("in reads_in_c")
        worker.wait_for_stderr("snakepit stacks end")
        writer.write(b"x")
        assert decode(conversation.terminal(call).result.value) == 1


def test_a_child_that_a_tool_forks_has_the_dump_signals_as_the_system_has_them(
    start: Host,
) -> None:
    ends = start(DUMPS).converse().call("child_by_dump_signal")
    assert ends == [-signal.SIGUSR1, -signal.SIGQUIT]


def test_the_dump_signal_interrupts_no_call(start: Host) -> None:
    worker = start("greeter")
    conversation = worker.converse()
    worker.signal(signal.SIGUSR1)
    worker.wait_for_stderr("most recent call first")
    assert conversation.call("greet", ["Ada"]) == "Hello Ada!"


# Once in every dump.
MAIN_THREAD = 'bridge/serving.py", line '

THREADS = """
    import threading
    from snakepit_bridge import tool

    def descend(depth: int) -> int:
        return 0 if depth == 0 else 1 + descend(depth - 1)

    def run() -> None:
        while True:
            descend(40)

    @tool
    def starts_threads(count: int) -> None:
        for _ in range(count):
            threading.Thread(target=run, daemon=True).start()

    @tool
    def answers() -> str:
        return "yes"
"""


def test_the_dump_signal_interrupts_no_thread(start: Host) -> None:
    # Stacks that are read while they change are no stacks: it must not end there.
    worker = start(THREADS)
    conversation = worker.converse()
    conversation.call("starts_threads", [2])
    for dump in range(1, 51):
        worker.signal(signal.SIGUSR1)
        worker.wait_for_stderr(MAIN_THREAD, times=dump)
    assert conversation.call("answers") == "yes"


def test_the_cancel_signal_from_elsewhere_does_nothing(start: Host) -> None:
    worker = start("greeter")
    conversation = worker.converse()
    for _ in range(20):
        worker.signal(signal.SIGUSR2)
        assert conversation.call("greet", ["Ada"]) == "Hello Ada!"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--run-id", "x"], "python -m snakepit_bridge call FILE_OR_MODULE TOOL"),
        ([], "--run-id"),
        (["--run-id"], "--run-id"),
        (["--run", "x"], "--run-id"),
    ],
)
def test_a_worker_started_by_hand_explains_what_to_do_instead(
    arguments: list[str], says: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "snakepit_bridge", "worker", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 64
    assert says in done.stderr


# What is imported before the lifeline is armed delays the moment from which a
# worker cannot outlive its host.
BEFORE_THE_LIFELINE = """
import sys
before = set(sys.modules)
import snakepit_bridge.__main__
import snakepit_bridge.boot.first_steps
print(" ".join(sorted(set(sys.modules) - before)))
"""


def test_before_the_lifeline_only_light_modules_are_imported() -> None:
    output = subprocess.check_output(
        [sys.executable, "-S", "-c", BEFORE_THE_LIFELINE],
        text=True,
        cwd=TOOLS.parents[1] / "src",
    )
    heavy = {"typing", "asyncio", "logging", "inspect", "traceback", "dataclasses"}
    assert heavy.isdisjoint(output.split())
    ours = [name for name in output.split() if name.startswith("snakepit_bridge.")]
    assert {name.split(".")[1] for name in ours} == {
        "__main__",
        "_version",
        "boot",
        "own_imports",
        "when_imported",
    }


def test_the_version_is_that_of_the_npm_packages() -> None:
    core = TOOLS.parents[2] / "packages" / "core" / "package.json"
    assert json.loads(core.read_text(encoding="utf-8"))["version"] == __version__


def test_every_public_name_is_there() -> None:
    program = (
        "import snakepit_bridge as bridge\n"
        "assert set(bridge.__all__) <= set(dir(bridge))\n"
        "print(all(getattr(bridge, name) is not None for name in bridge.__all__))\n"
        "bridge.nonsense\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == "True\n"
    assert "has no attribute 'nonsense'" in done.stderr
