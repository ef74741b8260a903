"""What no Python object holds cannot be closed by one that ends."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys, time
from snakepit_bridge.boot.lifeline import Lifeline
Lifeline(sys.argv[1])
print("tied", flush=True)
time.sleep(60)
"""


def test_a_lifeline_works_although_its_object_was_freed(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "l")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM, path],
            stdout=subprocess.PIPE,
            start_new_session=True,
        ) as child:
            connections = [listener.accept()[0] for _ in range(2)]
            try:
                assert child.stdout is not None
                assert child.stdout.readline() == b"tied\n"
                for connection in connections:
                    connection.close()
                assert child.wait(timeout=20) == -signal.SIGKILL
            finally:
                for connection in connections:
                    connection.close()
                child.kill()
