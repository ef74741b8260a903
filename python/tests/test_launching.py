"""Workers that cannot be what their launch message asks for, and say why."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Host

from snakepit_bridge import __version__

MAIN = "from snakepit_bridge.__main__ import main\nsys.exit(main(sys.argv[1:]))\n"


@pytest.mark.parametrize(
    ("versions", "remedy"),
    [
        ({"min": 2, "max": 3}, "update snakepit-bridge in the environment of"),
        ({"min": 0, "max": 0}, "update fake-host 1.2.3"),
    ],
)
def test_a_protocol_mismatch_names_both_versions(
    host: Host, versions: dict[str, int], remedy: str
) -> None:
    failure = host("greeter", protocol=versions).failed()
    assert failure["code"] == "PROTOCOL_MISMATCH"
    assert f"protocols {versions['min']} to {versions['max']}" in failure["message"]
    assert f"snakepit-bridge {__version__} supports 1 to 1" in failure["message"]
    assert remedy in failure["message"]


@pytest.mark.parametrize("missing", ["grpc", "msgpack", "google.protobuf"])
def test_a_missing_dependency_is_named_with_the_remedy(
    host: Host, missing: str
) -> None:
    fake = host("greeter", transport="grpc")
    fake.program = ["-u", "-c", f"import sys\nsys.modules[{missing!r}] = None\n{MAIN}"]
    failure = fake.failed()
    assert failure["code"] == "BRIDGE_MISSING"
    assert missing in failure["message"]
    install = f"{sys.executable} -m pip install --upgrade"
    assert f'{install} "snakepit-bridge[grpc]"\n' in failure["detail"]
    unpublished = '"CLONE/python[grpc]" instead' in failure["detail"]
    assert unpublished == (__version__ == "0.0.0")
    assert "python() of @snakepit/adapter-python" in failure["detail"]


def test_without_grpc_and_protobuf_the_framed_transport_starts(host: Host) -> None:
    fake = host("greeter", transport="framed")
    hidden = "import sys\nsys.modules.update({'grpc': None, 'google.protobuf': None})\n"
    fake.program = ["-u", "-c", f"{hidden}{MAIN}"]
    fake.start()
    assert fake.ready["transport"] == "framed"


def test_a_dependency_that_may_not_be_read_is_named(host: Host, tmp_path: Path) -> None:
    # Python takes such a directory for a package without any code of its own.
    (tmp_path / "msgpack").mkdir()
    found = f"import sys\nsys.path[:0] = [{str(tmp_path)!r}]\n"
    hidden = "import importlib.machinery as machinery\n"
    hidden += "find = machinery.PathFinder.find_spec.__func__\n"
    hidden += "def first(cls, name, path=None, target=None):\n"
    hidden += "    path = sys.path[:1] if name == 'msgpack' else path\n"
    hidden += "    return find(cls, name, path, target)\n"
    hidden += "machinery.PathFinder.find_spec = classmethod(first)\n"
    fake = host("greeter", transport="framed")
    fake.program = ["-u", "-c", f"{found}{hidden}{MAIN}"]
    failure = fake.failed()
    assert failure["code"] == "BRIDGE_MISSING"
    assert f"msgpack has no code that can be read ({tmp_path}" in failure["message"]


def test_a_python_that_is_too_old_is_reported(host: Host) -> None:
    fake = host("greeter")
    old = "sys.version_info = (3, 9, 1)\nsys.version = '3.9.1 (main)'\n"
    fake.program = ["-u", "-c", f"import sys\n{old}{MAIN}"]
    failure = fake.failed()
    assert failure["code"] == "PYTHON_TOO_OLD"
    assert "is Python 3.9.1; snakepit-bridge needs 3.10" in failure["message"]


def test_a_socket_that_cannot_be_made_is_named(host: Host) -> None:
    fake = host("greeter", socket="/nowhere/at/all/s")
    failure = fake.failed()
    assert failure["code"] == "SOCKET_UNUSABLE"
    assert "/nowhere/at/all/s" in failure["message"]


def test_a_socket_path_that_is_too_long_is_named(host: Host) -> None:
    fake = host("greeter", socket="/tmp/" + "x" * 200)
    assert fake.failed()["code"] == "SOCKET_UNUSABLE"


@pytest.mark.parametrize(
    ("change", "payload", "problem"),
    [
        ({"snakepit": 2}, {}, "its version is 2, not 1"),
        ({"token": ""}, {}, "token is not a non-empty string"),
        ({"payload": None}, {}, "it has no payload"),
        (
            {"runId": "another"},
            {},
            "--run-id is test123, but the launch message is for",
        ),
        ({}, {"tools": []}, "payload.tools is not a list with an entry"),
        ({}, {"tools": [{}]}, "payload.tools names neither"),
        ({}, {"tools": [{"file": 1}]}, "file is not a non-empty string"),
        (
            {},
            {"tools": [{"file": "a.py", "expose": "f"}]},
            "an expose that is not a list",
        ),
        ({}, {"callsPerWorker": "1"}, "callsPerWorker is not a whole number"),
        ({}, {"protocol": 1}, "payload.protocol is not an object"),
        ({}, {"toolPath": "x"}, "payload.toolPath is not a list"),
    ],
)
def test_an_unusable_field_of_the_launch_message_is_reported(
    host: Host, change: dict[str, Any], payload: dict[str, Any], problem: str
) -> None:
    fake = host("greeter")
    fake.message["payload"].update(payload)
    fake.message.update(change)
    failure = fake.failed()
    assert failure["code"] == "LAUNCH_INVALID"
    assert problem in failure["message"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"no json\n", "it is not JSON"),
        (b"[]\n", "it is not a JSON object"),
        (b"{}\n", "lifeline is not a non-empty string"),
        (b"x" * 70_000, "it is longer than 65536 bytes"),
    ],
)
def test_a_line_that_is_not_a_launch_message_is_reported(
    host: Host, line: bytes, problem: str
) -> None:
    fake = host("greeter")
    fake.spawn()
    fake.channel.sendall(line)
    failure = fake.answer()["failed"]
    assert failure["code"] == "LAUNCH_INVALID"
    assert problem in failure["message"]
    assert fake.exit_status() == 70
