"""Starts that succeed, and starts that say why they do not."""

from __future__ import annotations

import os
import platform
import stat
from pathlib import Path

import pytest
from conftest import Host
from support.fake_host import FakeHost

from snakepit_bridge import __version__

ONE_TOOL = "from snakepit_bridge import tool\n@tool\ndef f() -> None: ...\n"


def test_the_ready_line_describes_the_worker(start: Host) -> None:
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
def test_tools_that_cannot_be_imported_are_reported_with_the_traceback(
    host: Host, source: str
) -> None:
    failure = host(source + "\n").failed()
    assert failure["code"] == "TOOLS_IMPORT_FAILED"
    assert IMPORT_FAILURES[source] in failure["message"]
    assert "Traceback (most recent call last)" in failure["detail"]
    assert "snakepit_bridge" not in failure["detail"]


def test_invalid_tools_are_reported_without_a_traceback_of_the_bridge(
    host: Host,
) -> None:
    failure = host("x = 1\n").failed()
    assert failure["code"] == "TOOLS_IMPORT_FAILED"
    assert "has no tools; decorate a function with @tool" in failure["message"]
    assert failure["detail"] == ""


def test_a_missing_file_is_named() -> None:
    with FakeHost(Path("/nowhere/tools.py")) as fake:
        assert "/nowhere/tools.py" in fake.failed()["message"]


def test_a_start_up_hook_that_fails_is_reported_with_the_traceback(host: Host) -> None:
    failure = host(
        """
            from snakepit_bridge import on_startup, tool

            @tool
            def f() -> None: ...

            @on_startup
            async def load() -> None:
                raise OSError("no model")
            """
    ).failed()
    assert failure["code"] == "STARTUP_HOOK_FAILED"
    assert "OSError: no model" in failure["message"]
    assert "in load" in failure["detail"]


def test_a_toolset_that_cannot_be_made_is_a_failed_start_up_hook(host: Host) -> None:
    failure = host(
        """
            from snakepit_bridge import tool, toolset

            @toolset
            class Model:
                def __init__(self) -> None:
                    raise OSError("no weights")

                @tool
                def f(self) -> None: ...
            """
    ).failed()
    assert failure["code"] == "STARTUP_HOOK_FAILED"
    assert "no weights" in failure["message"]


def test_a_long_traceback_still_fits_the_line(host: Host) -> None:
    failure = host("raise ValueError('\\x01' * 100_000)\n").failed()
    assert failure["code"] == "TOOLS_IMPORT_FAILED"
    assert "characters ..." in failure["detail"]


def test_tools_may_print_at_import(host: Host) -> None:
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


# Over gRPC the loop is made before the worker is ready.
@pytest.mark.parametrize("transport", ["grpc", "framed"])
def test_tools_that_close_the_workers_descriptors_fail_the_start(host: Host) -> None:
    closes_the_lifeline = "import os\nos.closerange(4, 64)\n"
    failure = host(f"{closes_the_lifeline}{ONE_TOOL}").failed()
    assert failure["code"] == "TOOLS_IMPORT_FAILED"
    assert "closed file descriptors" in failure["message"]


def test_a_start_that_fails_after_its_hooks_runs_the_shut_down_hooks(
    host: Host,
) -> None:
    fake = host(
        """
            import os
            from snakepit_bridge import on_shutdown, on_startup, tool

            @tool
            def f() -> None: ...

            @on_startup
            def load() -> None:
                os.closerange(4, 64)

            @on_shutdown
            def unload() -> None:
                print("unloaded", flush=True)
            """
    )
    assert "closed file descriptors" in fake.failed()["message"]
    fake.wait_for_stdout("unloaded\n")


def test_tools_that_raise_what_cannot_be_printed_fail_the_start_by_name(
    host: Host,
) -> None:
    failure = host(
        """
            class Unspeakable(Exception):
                def __str__(self) -> str:
                    raise RuntimeError("no words")

                def __getattr__(self, name: str) -> object:
                    return {"status": 404}[name]

            raise Unspeakable
            """
    ).failed()
    assert failure["code"] == "TOOLS_IMPORT_FAILED"
    assert "Unspeakable: <its text raised RuntimeError>" in failure["message"]
    assert "raise Unspeakable" in failure["detail"]


# Over gRPC the loop is made before the worker is ready.
@pytest.mark.parametrize("transport", ["grpc", "framed"])
def test_tools_that_close_the_control_channel_are_reported_on_stderr(
    host: Host,
) -> None:
    fake = host(f"import os\nos.closerange(3, 64)\n{ONE_TOOL}")
    fake.spawn()
    fake.launch()
    assert fake.answer() == {}
    assert fake.exit_status() == 70
    assert "closed file descriptors" in fake.stderr()
