"""What makes a fork unsafe: the decision, and its error messages."""
# ruff: noqa: SIM115 - the tests are about files that stay open

from __future__ import annotations

import fcntl
import mmap
import os
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from snakepit_bridge.boot.control_channel import StartFailed
from snakepit_bridge.preload.fork_safety import (
    Facts,
    judge,
    look,
    make_ready,
    open_descriptors,
)
from snakepit_bridge.preload.inherited_files import OpenFile, fate


def facts(
    threads: list[str] | None = None,
    files: list[OpenFile] | None = None,
    databases: list[tuple[str, str]] | None = None,
    modules: Mapping[str, object] | None = None,
) -> Facts:
    return Facts(threads or [], files or [], databases or [], modules or {})


def open_file(
    target: str = "/tmp/model.bin", mode: int = stat.S_IFREG, **more: Any
) -> OpenFile:
    return OpenFile(7, target, mode, **more)


DEVICE, PIPE, QUEUE = stat.S_IFCHR, stat.S_IFIFO, 0
WRITING, APPENDING = os.O_RDWR, os.O_WRONLY | os.O_APPEND
TORCH = types.SimpleNamespace(cuda=types.SimpleNamespace(is_initialized=lambda: True))
IDLE_TORCH = types.SimpleNamespace(
    cuda=types.SimpleNamespace(is_initialized=lambda: False)
)


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (facts(), None),
        (facts(files=[open_file()]), None),
        (facts(files=[open_file(flags=APPENDING)]), None),
        (facts(files=[open_file(flags=WRITING, only_mapped=True)]), None),
        (facts(files=[open_file("/dev/urandom", DEVICE, device=1)]), None),
        (facts(files=[open_file("/dev/pts/3", DEVICE, device=136)]), None),
        (facts(files=[open_file("pipe:[1]", PIPE, shared_by_design=True)]), None),
        (facts(files=[open_file("anon_inode:[pidfd]", QUEUE)]), None),
        (facts(modules={"torch": IDLE_TORCH, "numpy": object()}), None),
        (facts(threads=["python"]), "FORK_UNSAFE_THREADS"),
        (facts(threads=["python", "grpc_global_tim"]), "FORK_UNSAFE_GRPC"),
        (facts(threads=["event_engine"]), "FORK_UNSAFE_GRPC"),
        (
            facts(files=[open_file("socket:[1]", stat.S_IFSOCK)]),
            "FORK_UNSAFE_CONNECTIONS",
        ),
        (facts(files=[open_file("pipe:[1]", PIPE)]), "FORK_UNSAFE_CONNECTIONS"),
        (
            facts(files=[open_file("anon_inode:[eventpoll]", QUEUE)]),
            "FORK_UNSAFE_CONNECTIONS",
        ),
        (facts(files=[open_file(flags=WRITING)]), "FORK_UNSAFE_FILES"),
        (facts(files=[open_file(locked=True)]), "FORK_UNSAFE_FILES"),
        (
            facts(files=[open_file("/dev/ttyUSB0", DEVICE, device=188)]),
            "FORK_UNSAFE_FILES",
        ),
        (facts(databases=[("/tmp/a.db", "tools.DB")]), "FORK_UNSAFE_FILES"),
        (facts(files=[open_file("/dev/nvidiactl", DEVICE)]), "FORK_UNSAFE_CUDA"),
        (
            facts(files=[open_file("/dev/kfd", DEVICE)], threads=["python"]),
            "FORK_UNSAFE_CUDA",
        ),
        (facts(modules={"torch": TORCH}), "FORK_UNSAFE_CUDA"),
    ],
)
def test_each_fact_has_its_verdict(found: Facts, code: str | None) -> None:
    unsafe = judge(found)
    assert (None if unsafe is None else unsafe.code) == code


def test_threads_and_descriptors_of_this_process_are_found() -> None:
    before = open_descriptors()
    threads_before = len(look(before)[0].threads)
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    one, other = socket.socketpair()
    pipe = os.pipe()
    try:
        seen, opened = look(before)
        assert len(seen.threads) == threads_before + 1
        assert opened == {one.fileno(), other.fileno(), *pipe}
        kinds = sorted(fate(file)[1] for file in seen.files)
        assert kinds == ["is a pipe", "is a pipe", "is a socket", "is a socket"]
    finally:
        end.set()
        thread.join()
        for descriptor in pipe:
            os.close(descriptor)
        one.close()
        other.close()


HELD: Any = None


@pytest.fixture
def unsafe(tmp_path: Path) -> Iterator[Callable[[Callable[[Path], object]], str]]:
    """Opens something as an import does; returns the verdict on it."""

    def judged(open_it: Callable[[Path], object]) -> str:
        global HELD
        path = tmp_path / "held.bin"
        path.write_bytes(b"0123456789" * 100)
        before = open_descriptors()
        HELD = open_it(path)
        # Without the threads that other tests of this process have.
        found = Facts([], look(before)[0].files, look(before)[0].databases, {})
        failure = judge(found)
        return "" if failure is None else f"{failure.code}: {failure.message}"

    yield judged
    close_all(HELD)


def close_all(held: Any) -> None:
    global HELD
    HELD = None
    for each in held if isinstance(held, list) else [held]:
        os.close(each) if isinstance(each, int) else each.close()


def mapping(path: Path) -> mmap.mmap:
    with open(path, "r+b") as file:
        return mmap.mmap(file.fileno(), 0)


def locking(path: Path) -> object:
    file = open(path, "rb")
    fcntl.flock(file, fcntl.LOCK_SH)
    return file


def in_memory(_path: Path) -> object:
    return sqlite3.connect(":memory:")


@pytest.mark.parametrize(
    "open_it",
    [
        lambda path: open(path, "rb"),
        lambda path: open(path, "a"),
        lambda path: os.open(path.parent, os.O_RDONLY),
        lambda _path: os.open("/dev/urandom", os.O_RDONLY),
        mapping,
        in_memory,
    ],
)
def test_what_workers_can_open_for_themselves_is_safe(
    unsafe: Callable[..., str], open_it: Callable[[Path], object]
) -> None:
    assert unsafe(open_it) == ""


@pytest.mark.parametrize(
    ("open_it", "why"),
    [
        (lambda path: open(path, "w"), "is open for writing"),
        (lambda path: open(path, "r+b", 0), "is open for writing"),
        (lambda path: [open(path, "rb"), open(path, "r+b")], "is open for writing"),
        (lambda path: [mapping(path), open(path, "r+b")], "is open for writing"),
        (locking, "is locked"),
        (lambda path: sqlite3.connect(path.with_name("a.db")), "is open in sqlite3"),
    ],
)
def test_a_file_that_workers_cannot_share_is_named_with_its_variable(
    unsafe: Callable[..., str], open_it: Callable[[Path], object], why: str
) -> None:
    said = unsafe(open_it)
    assert said.startswith("FORK_UNSAFE_FILES: ")
    assert why in said
    assert (
        f"/held.bin (of {__name__}.HELD)" in said
        or f"/a.db (of {__name__}.HELD)" in said
    )


def test_a_file_object_that_an_object_of_a_module_holds_is_named(
    unsafe: Callable[..., str],
) -> None:
    def open_it(path: Path) -> object:
        return types.SimpleNamespace(close=(held := open(path, "w")).close, log=[held])

    assert f"(of {__name__}.HELD)" in unsafe(open_it)


FORKED = """
import os, sys
from snakepit_bridge.preload.fork_safety import look, make_ready, open_descriptors
from snakepit_bridge.preload.inherited_files import open_again

path = sys.argv[1]
before = open_descriptors()
read = open(path, "rb", 0)
copy = os.dup(read.fileno())
gone = open(path + "-gone", "rb", 0)
log = open(path + "-log", "a")
os.unlink(path + "-gone")
read.seek(3)
gone.seek(5)
log.write("imported once\\n")
os.set_inheritable(gone.fileno(), True)
groups = make_ready(look(before)[0])

def child(number):
    go, gate = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        for group in groups:
            open_again(group)
        os.write(gate[1], b"r")
        os.read(go[0], 1)
        said = [read.read(1), gone.read(1), os.read(copy, 1)]
        log.write(f"worker {number}\\n")
        log.flush()
        os.write(gate[1], repr(said).encode())
        os._exit(0)
    os.read(gate[0], 1)
    return pid, go[1], gate[0]

children = [child(number) for number in range(2)]
for pid, go, gate in children:
    os.write(go, b"g")
    print(os.read(gate, 100).decode())
    os.waitpid(pid, 0)
print(os.get_inheritable(gone.fileno()), os.get_inheritable(read.fileno()))
print(open(path + "-log").read(), end="")
"""


def test_each_fork_reads_on_where_the_import_was_and_copies_of_a_descriptor_go_together(
    tmp_path: Path,
) -> None:
    path = tmp_path / "read.bin"
    for name in ("read.bin", "read.bin-gone"):
        (tmp_path / name).write_bytes(b"0123456789")
    ran = subprocess.run(
        [sys.executable, "-c", FORKED, path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stderr == ""
    # The copy reads on where its original stopped, in each fork alike.
    assert ran.stdout.splitlines() == [
        "[b'3', b'5', b'4']",
        "[b'3', b'5', b'4']",
        "True False",
        "imported once",
        "worker 0",
        "worker 1",
    ]


def test_a_file_that_cannot_be_opened_again_is_refused(tmp_path: Path) -> None:
    before = open_descriptors()
    file = open(tmp_path / "a", "wb")
    try:
        (found,) = look(before)[0].files
        # As for a file of another user, which a program opened before it dropped its rights.
        with pytest.raises(
            StartFailed, match=r"/a cannot be opened again \(.*\)"
        ) as failed:
            make_ready(
                facts(
                    files=[
                        OpenFile(
                            file.fileno(),
                            found.target,
                            stat.S_IFREG,
                            flags=os.O_DIRECTORY,
                        )
                    ]
                )
            )
        assert failed.value.code == "FORK_UNSAFE_FILES"
    finally:
        file.close()
