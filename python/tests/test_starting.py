"""Starts that succeed, and starts that say why they do not."""

from __future__ import annotations

import os
import platform
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Host
from support.fake_host import FakeHost

from snakepit_bridge import __version__


def failed(fake: FakeHost) -> dict[str, str]:
    """Returns what a worker says that does not start; it exits with 70."""
    fake.spawn()
    fake.launch()
    failure: dict[str, str] = fake.answer()["failed"]
    assert fake.exit_status() == 70
    return failure


def test_a_worker_that_is_ready_says_who_it_is(start: Host) -> None:
    ready = start("greeter").ready
    assert ready["protocol"] == 1
    assert ready["bridge"] == __version__
    assert ready["python"] == platform.python_version()


def test_tools_are_found_by_module_name_on_the_tool_path(
    host: Host, tmp_path: Path
) -> None:
    package = tmp_path / "my_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    source = (
        "from snakepit_bridge import tool\n@tool\ndef f() -> str: return __name__\n"
    )
    (package / "my_tools.py").write_text(source)
    fake = FakeHost("my_package.my_tools", toolPath=[str(tmp_path)])
    with fake:
        assert fake.start().converse().call("f") == "my_package.my_tools"


def test_a_file_of_tools_imports_its_neighbours(host: Host, tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("NAME = 'next door'\n")
    source = """
        from neighbour import NAME
        from snakepit_bridge import tool

        @tool
        def f() -> str:
            return NAME
    """
    assert host(source).start().converse().call("f") == "next door"


def test_a_file_may_be_named_as_a_module_of_the_library(tmp_path: Path) -> None:
    path = tmp_path / "random.py"
    path.write_text(
        "from snakepit_bridge import tool\n"
        "@tool\n"
        "def name() -> str:\n"
        "    import secrets\n"
        "    return __name__\n"
    )
    with FakeHost(path) as fake:
        assert fake.start().converse().call("name") == "snakepit_tools_random"


def test_the_socket_belongs_to_its_user_alone(start: Host) -> None:
    worker = start("greeter")
    assert stat.S_IMODE(os.stat(worker.socket_path).st_mode) == 0o600


IMPORT_FAILURES = {
    "raise ValueError('at import')": "ValueError: at import",
    "import no_such_module": "ModuleNotFoundError: No module named 'no_such_module'",
    "import sys\nsys.exit(3)": "SystemExit: 3",
    "def f(:": "SyntaxError",
}


@pytest.mark.parametrize("source", IMPORT_FAILURES)
def test_tools_that_cannot_be_imported_are_told_with_the_traceback(
    host: Host, source: str
) -> None:
    failure = failed(host(source + "\n"))
    assert failure["code"] == "TOOLS_IMPORT_FAILED"
    assert IMPORT_FAILURES[source] in failure["message"]
    assert "Traceback (most recent call last)" in failure["detail"]
    assert "snakepit_bridge" not in failure["detail"]


def test_tools_that_cannot_be_offered_are_told_without_the_bridges_traceback(
    host: Host,
) -> None:
    failure = failed(host("x = 1\n"))
    assert failure["code"] == "TOOLS_IMPORT_FAILED"
    assert "has no tools; decorate a function with @tool" in failure["message"]
    assert failure["detail"] == ""


def test_a_file_that_is_not_there_is_named() -> None:
    with FakeHost(Path("/nowhere/tools.py")) as fake:
        assert "/nowhere/tools.py" in failed(fake)["message"]


def test_a_start_up_hook_that_fails_is_told_with_the_traceback(host: Host) -> None:
    failure = failed(
        host(
            """
            from snakepit_bridge import on_startup, tool

            @tool
            def f() -> None: ...

            @on_startup
            async def load() -> None:
                raise OSError("no model")
            """
        )
    )
    assert failure["code"] == "STARTUP_HOOK_FAILED"
    assert "OSError: no model" in failure["message"]
    assert "in load" in failure["detail"]


def test_a_toolset_that_cannot_be_made_is_a_failed_start_up_hook(host: Host) -> None:
    failure = failed(
        host(
            """
            from snakepit_bridge import tool, toolset

            @toolset
            class Model:
                def __init__(self) -> None:
                    raise OSError("no weights")

                @tool
                def f(self) -> None: ...
            """
        )
    )
    assert failure["code"] == "STARTUP_HOOK_FAILED"
    assert "no weights" in failure["message"]


def test_a_long_traceback_still_fits_the_line(host: Host) -> None:
    failure = failed(host("raise ValueError('\\x01' * 100_000)\n"))
    assert failure["code"] == "TOOLS_IMPORT_FAILED"
    assert "characters ..." in failure["detail"]


def test_tools_that_print_at_import_disturb_nothing(host: Host) -> None:
    worker = host(
        """
        import sys
        print('{"failed": "no"}')
        sys.stderr.write("loading\\n")
        from snakepit_bridge import tool

        @tool
        def f() -> int:
            return 1
        """
    ).start()
    assert worker.converse().call("f") == 1
    worker.wait_for_stdout('{"failed": "no"}\n')


def test_tools_that_close_our_descriptors_are_told_so(host: Host) -> None:
    closes_the_lifeline = "import os\nos.closerange(4, 64)\n"
    failure = failed(host(f"{closes_the_lifeline}{ONE_TOOL}"))
    assert failure["code"] == "TOOLS_IMPORT_FAILED"
    assert "closed file descriptors" in failure["message"]


def test_tools_that_close_the_control_channel_are_told_so_on_stderr(
    host: Host,
) -> None:
    fake = host(f"import os\nos.closerange(3, 64)\n{ONE_TOOL}")
    fake.spawn()
    fake.launch()
    assert fake.answer() == {}
    assert fake.exit_status() == 70
    assert "closed file descriptors" in fake.stderr()


ONE_TOOL = "from snakepit_bridge import tool\n@tool\ndef f() -> None: ...\n"


@pytest.mark.parametrize(
    ("versions", "remedy"),
    [
        ({"min": 2, "max": 3}, "update snakepit-bridge in the environment of"),
        ({"min": 0, "max": 0}, "update fake-host 1.2.3"),
    ],
)
def test_versions_that_do_not_meet_are_both_named(
    host: Host, versions: dict[str, int], remedy: str
) -> None:
    failure = failed(host("greeter", protocol=versions))
    assert failure["code"] == "PROTOCOL_MISMATCH"
    assert f"protocols {versions['min']} to {versions['max']}" in failure["message"]
    assert f"snakepit-bridge {__version__} speaks 1 to 1" in failure["message"]
    assert remedy in failure["message"]


@pytest.mark.parametrize("missing", ["grpc", "msgpack", "google.protobuf"])
def test_a_missing_dependency_is_named_with_the_remedy(
    host: Host, missing: str
) -> None:
    fake = host("greeter", transport="grpc")
    fake.program = ["-u", "-c", f"import sys\nsys.modules[{missing!r}] = None\n{MAIN}"]
    failure = failed(fake)
    assert failure["code"] == "BRIDGE_MISSING"
    assert missing in failure["message"]
    assert f"{sys.executable} -m pip install" in failure["detail"]


def test_a_python_that_is_too_old_is_told_so(host: Host) -> None:
    fake = host("greeter")
    old = "sys.version_info = (3, 9, 1)\nsys.version = '3.9.1 (main)'\n"
    fake.program = ["-u", "-c", f"import sys\n{old}{MAIN}"]
    failure = failed(fake)
    assert failure["code"] == "PYTHON_TOO_OLD"
    assert "is Python 3.9.1; snakepit-bridge needs 3.10" in failure["message"]


MAIN = "from snakepit_bridge.__main__ import main\nsys.exit(main(sys.argv[1:]))\n"


def test_a_socket_that_cannot_be_made_is_named(host: Host) -> None:
    fake = host("greeter", socket="/nowhere/at/all/s")
    failure = failed(fake)
    assert failure["code"] == "SOCKET_UNUSABLE"
    assert "/nowhere/at/all/s" in failure["message"]


def test_a_socket_path_that_is_too_long_is_named(host: Host) -> None:
    fake = host("greeter", socket="/tmp/" + "x" * 200)
    assert failed(fake)["code"] == "SOCKET_UNUSABLE"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"snakepit": 2}, "its version is 2, not 1"),
        ({"token": ""}, "token is no text"),
        ({"payload": None}, "it has no payload"),
        ({"runId": "another"}, "--run-id says test123 and the launch message another"),
    ],
)
def test_a_launch_message_that_cannot_be_used_is_told_so(
    host: Host, change: dict[str, Any], problem: str
) -> None:
    fake = host("greeter")
    fake.message.update(change)
    failure = failed(fake)
    assert failure["code"] == "LAUNCH_INVALID"
    assert problem in failure["message"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"tools": {}}, "payload.tools is neither"),
        ({"tools": {"file": 1}}, "file is no text"),
        ({"callsPerWorker": "1"}, "callsPerWorker is no whole number"),
        ({"protocol": 1}, "payload.protocol is no object"),
        ({"toolPath": "x"}, "payload.toolPath is no list"),
    ],
)
def test_a_payload_that_cannot_be_used_is_told_so(
    host: Host, change: dict[str, Any], problem: str
) -> None:
    fake = host("greeter")
    fake.message["payload"].update(change)
    failure = failed(fake)
    assert failure["code"] == "LAUNCH_INVALID"
    assert problem in failure["message"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"no json\n", "it is no JSON"),
        (b"[]\n", "it is no JSON object"),
        (b"{}\n", "lifeline is no text"),
        (b"x" * 70_000, "it is longer than 65536 bytes"),
    ],
)
def test_a_line_that_is_no_launch_message_is_told_so(
    host: Host, line: bytes, problem: str
) -> None:
    fake = host("greeter")
    fake.spawn()
    fake.channel.sendall(line)
    failure = fake.answer()["failed"]
    assert failure["code"] == "LAUNCH_INVALID"
    assert problem in failure["message"]
    assert fake.exit_status() == 70
