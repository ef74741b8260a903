"""The record of what `multiprocessing` names, from which a host removes what is left."""

from __future__ import annotations

import os
import subprocess
import sys
from multiprocessing import shared_memory
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/shm")

BEGINNING = """\
import os, sys
from snakepit_bridge.boot.process_setup import note_what_it_names
from snakepit_bridge.own_imports import isolate
directory = sys.argv[1]
if __name__ == "__main__":
    assert "multiprocessing" not in sys.modules
    note_what_it_names(directory + "/l")
    isolate()
    assert "multiprocessing" not in sys.modules
    assert "snakepit_bridge.named_memory" not in sys.modules
import multiprocessing
from multiprocessing import shared_memory, resource_tracker

def segment() -> str:
    made = shared_memory.SharedMemory(create=True, size=100)
    made.close()
    return made.name
"""


def run(directory: Path, script: str, *arguments: str) -> list[str]:
    """Runs a program that keeps a record, up to `os._exit`; returns what it printed."""
    file = directory / "program.py"
    file.write_text(BEGINNING + script)
    command = [sys.executable, str(file), str(directory), *arguments]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def recorded(directory: Path) -> set[str]:
    """The names that a host would remove; each is removed."""
    created: dict[str, tuple[str, str]] = {}
    removed: set[str] = set()
    for file in directory.glob("names-*"):
        assert file.stat().st_mode & 0o777 == 0o600
        for line in file.read_text().splitlines():
            sign, name, device, inode = line.split()
            if sign == "+":
                created[name] = (device, inode)
            else:
                removed.add(name)
    left = {name for name in created if name not in removed}
    for name in left:
        path = Path("/dev/shm") / name
        found = path.stat()
        assert created[name] == (str(found.st_dev), str(found.st_ino))
        path.unlink()
    return left


def test_what_a_program_creates_is_on_record_until_it_is_removed(
    tmp_path: Path,
) -> None:
    script = """
removed = shared_memory.SharedMemory(create=True, size=100)
removed.unlink()
lock = multiprocessing.get_context("spawn").Lock()
print(segment(), "sem." + lock._semlock.name[1:], flush=True)
os.kill(resource_tracker._resource_tracker._pid, 9)
os._exit(0)
"""
    assert recorded(tmp_path) == set()
    printed = run(tmp_path, script)
    assert recorded(tmp_path) == set(printed)
    assert len(printed) == 2


def test_what_is_a_strangers_or_to_outlive_it_is_not(tmp_path: Path) -> None:
    strangers = shared_memory.SharedMemory(create=True, size=100)
    try:
        script = """
attached = shared_memory.SharedMemory(name=sys.argv[2])
handed_on = segment()
resource_tracker.unregister("/" + handed_on, "shared_memory")
print(handed_on, flush=True)
os.kill(resource_tracker._resource_tracker._pid, 9)
os._exit(0)
"""
        (handed_on,) = run(tmp_path, script, strangers.name)
        assert recorded(tmp_path) == set()
        (Path("/dev/shm") / handed_on).unlink()
    finally:
        strangers.close()
        strangers.unlink()


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_what_children_create_is_on_record_however_they_are_started(
    tmp_path: Path, method: str
) -> None:
    script = """
def child(queue):
    queue.put([os.getpid(), segment()])

def remove(name):
    shared_memory.SharedMemory(name=name).unlink()

if __name__ == "__main__":
    # One for all: otherwise a forked child has its own, which removes what it left.
    resource_tracker.ensure_running()
    context = multiprocessing.get_context(sys.argv[2])
    queue = context.SimpleQueue()
    for target in (child, child):
        process = context.Process(target=target, args=(queue,))
        process.start()
        print(queue.get()[1], flush=True)
        process.join()
    removed = segment()
    process = context.Process(target=remove, args=(removed,))
    process.start()
    process.join()
    os.kill(resource_tracker._resource_tracker._pid, 9)
    os._exit(0)
"""
    printed = run(tmp_path, script, method)
    # The semaphores of the queue are of this process.
    left = {name for name in recorded(tmp_path) if not name.startswith("sem.")}
    assert left == set(printed)
    assert len(printed) == 2
    assert len(list(tmp_path.glob("names-*"))) >= 3


def test_a_record_stays_short_and_comes_back_when_it_is_lost(tmp_path: Path) -> None:
    script = """
kept = segment()
for _ in range(2_000):
    made = shared_memory.SharedMemory(create=True, size=1)
    made.close()
    made.unlink()
(record,) = [name for name in os.listdir(directory) if name.startswith("names-")]
assert os.path.getsize(f"{directory}/{record}") < 80_000
os.remove(f"{directory}/{record}")
print(kept, segment(), flush=True)
os.kill(resource_tracker._resource_tracker._pid, 9)
os._exit(0)
"""
    printed = run(tmp_path, script)
    assert recorded(tmp_path) == set(printed)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "os.rename(directory, directory + '-gone')",
            "os.rename(directory + '-gone', directory)",
        ),
        # A link in the place of the record is not followed.
        ("os.symlink('/nowhere', f'{directory}/names-{os.getpid()}')", ""),
    ],
    ids=["no directory", "another user's record"],
)
def test_without_a_record_the_program_goes_on(
    tmp_path: Path, before: str, after: str
) -> None:
    script = f"""
{before}
made = shared_memory.SharedMemory(create=True, size=100)
made.close()
made.unlink()
{after}
print("works", flush=True)
"""
    assert run(tmp_path, script) == ["works"]
    assert not [path for path in tmp_path.glob("names-*") if not path.is_symlink()]
    assert not os.path.lexists("/nowhere")
