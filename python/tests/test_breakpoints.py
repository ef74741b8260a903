"""`breakpoint()` in a worker, on a private socket."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.command_line import run

from snakepit_bridge.boot.control_channel import StartFailed
from snakepit_bridge.development.breakpoints import stop_at_breakpoints

DEADLINE_S = 60
PROMPT = b"(Pdb) "


class Person:
    """Types to a debugger, and reads what it shows."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(DEADLINE_S)
        self._socket.connect(str(path))

    def prompted(self) -> bytes:
        """Returns what is shown up to the next prompt."""
        shown = b""
        while not shown.endswith(PROMPT):
            data = self._socket.recv(4096)
            assert data, shown
            shown += data
        return shown

    def type(self, line: str) -> None:
        self._socket.sendall(f"{line}\n".encode())

    def close(self) -> None:
        self._socket.close()


def value_of(value: int) -> int:
    breakpoint()  # noqa: T100
    doubled = value * 2
    return doubled


class Stopping(threading.Thread):
    """Stops at a breakpoint."""

    def __init__(self, value: int) -> None:
        super().__init__(daemon=True)
        self._value = value
        self.result: int | None = None
        self.start()

    def run(self) -> None:
        self.result = value_of(self._value)

    def end(self) -> int | None:
        self.join(DEADLINE_S)
        return self.result


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.delenv("PYTHONBREAKPOINT", raising=False)
    monkeypatch.setattr(sys, "breakpointhook", sys.__breakpointhook__)
    end = stop_at_breakpoints("socket", str(tmp_path / "d"))
    yield tmp_path / "d"
    end()


def test_threads_that_stop_together_prompt_one_after_the_other(path: Path) -> None:
    stopping = [Stopping(1), Stopping(2)]
    with closing(Person(path)) as person:
        for _ in stopping:
            assert b"value_of()" in person.prompted()
            person.type("!value += 10")
            assert person.prompted() == PROMPT
            person.type("continue")
    assert sorted(filter(None, (thread.end() for thread in stopping))) == [22, 24]


def test_a_breakpoint_in_what_a_person_evaluates_is_passed_over(path: Path) -> None:
    stopping = Stopping(1)
    with closing(Person(path)) as person:
        person.prompted()
        person.type("p value_of(21)")
        assert person.prompted() == b"42\n" + PROMPT
        person.type("continue")
    assert stopping.end() == 2


def test_who_left_before_a_stop_does_not_continue_it(path: Path) -> None:
    Person(path).close()
    stopping = Stopping(1)
    with closing(Person(path)) as person:
        person.prompted()
    assert stopping.end() == 2


def test_a_hook_of_the_environment_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONBREAKPOINT", "0")
    before = sys.breakpointhook
    end = stop_at_breakpoints("socket", str(tmp_path / "d"))
    assert sys.breakpointhook is before
    end()


def test_a_socket_that_cannot_be_made_is_a_failed_start(tmp_path: Path) -> None:
    with pytest.raises(StartFailed) as caught:
        stop_at_breakpoints("socket", str(tmp_path / "absent" / "d"))
    assert caught.value.code == "SOCKET_UNUSABLE"


def test_attach_says_where_no_worker_listens(tmp_path: Path) -> None:
    done = run("attach", str(tmp_path / "d"))
    assert done.returncode == 69
    assert f"{tmp_path / 'd'}: no worker listens there" in done.stderr


def test_attach_shows_the_answers_to_input_that_is_piped(path: Path) -> None:
    stopping = Stopping(21)
    done = run("attach", str(path), stdin="p value + 1\n")
    assert done.returncode == 0, done.stderr
    assert "(Pdb) 22" in done.stdout
    assert stopping.end() == 42
