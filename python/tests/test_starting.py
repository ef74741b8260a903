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


@pytest.mark.parametrize("transport", ["grpc", "framed"])
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


# -------- Workers that cannot be what their launch message asks for, and say why

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


# ------------------------- Tools that speak gRPC themselves, beside the bridge

TOOLS = """
import asyncio
import os
import tempfile

import grpc
from grpc import aio

from snakepit_bridge import tool

async def greeted(name: str) -> str:
    async def greet(request: bytes, context) -> bytes:
        await asyncio.sleep(0)
        return b"hello " + request

    handler = grpc.unary_unary_rpc_method_handler(greet)
    with tempfile.TemporaryDirectory() as directory:
        path = f"unix:{os.path.join(directory, 'socket')}"
        server = aio.server()
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("Greeter", {"Greet": handler}),)
        )
        server.add_insecure_port(path)
        await server.start()
        async with aio.insecure_channel(path) as channel:
            answer = await channel.unary_unary("/Greeter/Greet")(name.encode())
        await server.stop(None)
    return answer.decode()

@tool
async def asynchronous(name: str) -> str:
    return await greeted(name)

@tool
def synchronous(name: str) -> str:
    return asyncio.run(greeted(name))
"""


@pytest.mark.parametrize("name", ["asynchronous", "synchronous"])
def test_a_tool_may_have_a_server_and_a_channel_of_its_own(
    start: Host, name: str
) -> None:
    conversation = start(TOOLS).converse()
    for number in range(3):
        assert conversation.call(name, [f"{number}"]) == f"hello {number}"
    calls = [conversation.begin(name, ["x"]) for _ in range(10)]
    answered = {conversation.receive().result.call_id for _ in calls}
    assert answered == set(calls)
