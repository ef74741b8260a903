"""What makes a fork unsafe: the decision, and its error messages."""

from __future__ import annotations

import os
import socket
import threading
import types
from collections.abc import Mapping

import pytest

from snakepit_bridge.preload.fork_safety import Facts, judge, look, open_descriptors


def facts(
    threads: list[str] | None = None,
    files: list[str] | None = None,
    sockets: int = 0,
    modules: Mapping[str, object] | None = None,
) -> Facts:
    return Facts(threads or [], files or [], sockets, modules or {})


TORCH = types.SimpleNamespace(cuda=types.SimpleNamespace(is_initialized=lambda: True))
IDLE_TORCH = types.SimpleNamespace(
    cuda=types.SimpleNamespace(is_initialized=lambda: False)
)


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (facts(), None),
        (facts(files=["/tmp/model.bin"]), None),
        (facts(modules={"torch": IDLE_TORCH, "numpy": object()}), None),
        (facts(threads=["python"]), "FORK_UNSAFE_THREADS"),
        (facts(threads=["python", "grpc_global_tim"]), "FORK_UNSAFE_GRPC"),
        (facts(threads=["event_engine"]), "FORK_UNSAFE_GRPC"),
        (facts(sockets=1), "FORK_UNSAFE_CONNECTIONS"),
        (facts(files=["/dev/nvidiactl"]), "FORK_UNSAFE_CUDA"),
        (facts(files=["/dev/kfd"], threads=["python"]), "FORK_UNSAFE_CUDA"),
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
        assert seen.sockets == 2
        assert len(seen.files) == 4
    finally:
        end.set()
        thread.join()
        for descriptor in pipe:
            os.close(descriptor)
        one.close()
        other.close()
