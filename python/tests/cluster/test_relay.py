"""A relay hosts one worker on a node, for one gateway and one host that it knows."""

from __future__ import annotations

import os
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.certificate_authority import signed_identities
from support.relay_host import RelayHost, wait_until_gone

from snakepit_bridge.bridge.framed_transport.frame_parser import framed
from snakepit_bridge.bridge.framed_transport.sideband import BYTES, SegmentPart
from snakepit_bridge.cluster.certificates import own_identity

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="nodes run Linux: /proc, subreapers"
)

TOOLS = """\
import os, subprocess, sys, time

from snakepit_bridge import tool

@tool
def echo(value):
    return value

@tool
def where() -> list[str]:
    return [os.getcwd(), os.environ.get("GIVEN", ""), str("HOME" in os.environ)]

@tool
def pid() -> int:
    return os.getpid()

@tool
def say(text: bytes, times: int = 1) -> None:
    for _ in range(times):
        os.write(1, text)

@tool
def spin(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

@tool
def daemon() -> int:
    # Another session, another parent, no environment, no descriptor of ours.
    program = '''
import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(1, str(os.getpid()).encode())
        os.closerange(0, 64)
        os.execve("/bin/sleep", ["sleep", "600"], {})
    os._exit(0)
os.wait()
'''
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE)
    return int(done.stdout)
"""


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[RelayHost]:
    tools = tmp_path / "tools.py"
    tools.write_text(TOOLS)
    with RelayHost(tools) as host:
        yield host


def test_a_worker_serves_through_the_relay(relay: RelayHost, tmp_path: Path) -> None:
    control = relay.start(env={"GIVEN": "yes", "HOME": None})
    assert control.wait_for("ready")["transport"] == "framed"
    conversation = relay.converse()
    assert conversation.call("echo", {"value": "é"}) == "é"
    assert conversation.call("where") == [str(tmp_path), "yes", "False"]


# In `test`, packages/adapter-ray/test/cluster/pool.test.ts sends one in each direction.
@pytest.mark.thorough
def test_values_of_many_megabytes_pass(relay: RelayHost) -> None:
    relay.start().wait_for("ready")
    value = os.urandom(9 << 20)
    assert relay.converse().call("echo", {"value": value}) == value


def test_output_arrives_byte_by_byte_as_it_was_written(relay: RelayHost) -> None:
    control = relay.start()
    control.wait_for("ready")
    relay.converse().call("say", {"text": b"a\xff\n"})
    output = control.wait_for("output")
    assert output == {"stream": "stdout", "text": "a\udcff\n"}


def test_output_that_nobody_reads_stops_no_call(relay: RelayHost) -> None:
    control = relay.start()
    control.wait_for("ready")
    conversation = relay.converse()
    conversation.call("say", {"text": b"x" * 1023 + b"\n", "times": 40_000})
    assert conversation.call("echo", {"value": 1}) == 1
    control.send(signal="SIGKILL")
    text = ""
    while "exit" not in (message := control.receive()):
        text += message.get("output", {}).get("text", "")
    assert "bytes of output are lost: the gateway did not read" in text
    assert len(text) < 40_000 << 10


def test_usage_counts_what_the_worker_does(relay: RelayHost) -> None:
    control = relay.start()
    control.wait_for("ready")
    before = control.wait_for("usage")
    relay.converse().call("spin", {"seconds": 1.0})
    while (usage := control.wait_for("usage"))["cpuMs"] < before["cpuMs"] + 500:
        pass
    assert usage["residentBytes"] > 1 << 20


@pytest.mark.parametrize(
    ("number", "end"),
    [("SIGTERM", {"code": 0}), ("SIGKILL", {"signal": "SIGKILL"})],
)
def test_a_signal_reaches_the_worker_and_its_end_is_reported(
    relay: RelayHost, number: str, end: dict[str, object]
) -> None:
    control = relay.start()
    control.wait_for("ready")
    control.send(signal=number)
    assert control.wait_for("exit") == end
    assert relay.keeper.wait() == 0
    assert relay.directories == []


def test_a_worker_that_cannot_start_says_why(tmp_path: Path) -> None:
    tools = tmp_path / "tools.py"
    tools.write_text("import nothing_of_that_name\n")
    with RelayHost(tools) as relay:
        control = relay.start()
        assert control.wait_for("failed")["code"] == "TOOLS_IMPORT_FAILED"
        assert control.wait_for("exit") == {"code": 70}


# ------------------------------------------------ who may connect


def test_a_stranger_is_refused_and_disturbs_nobody(relay: RelayHost) -> None:
    relay.connect_plainly().sendall(b"GET / HTTP/1.0\r\n\r\n")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        # TLS 1.3: the refusal comes with the first read.
        relay.connect(own_identity("test")).recv(1)
    relay.start().wait_for("ready")
    assert relay.converse().call("echo", {"value": 1}) == 1


def test_the_users_own_certificates_are_used(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(TOOLS)
    ours, relays, others = signed_identities("gateway", "node", "other")
    paths = {}
    for name, text in zip(("certificate", "key", "ca"), relays, strict=True):
        paths[name] = str(tmp_path / name)
        (tmp_path / name).write_text(text or "")
    with RelayHost(tmp_path / "tools.py", identity=ours, tls=paths) as relay:
        assert relay.facts["certificate"] == relays.certificate
        # Of the same authority, and not the gateway's.
        with pytest.raises((ssl.SSLError, ConnectionError)):
            relay.connect(others).recv(1)
        relay.start().wait_for("ready")
        assert relay.converse().call("echo", {"value": 1}) == 1


def test_a_connection_that_says_nothing_disturbs_nobody(relay: RelayHost) -> None:
    silent = [relay.connect_plainly() for _ in range(8)]
    relay.start().wait_for("ready")
    assert relay.converse().call("echo", {"value": 1}) == 1
    for each in silent:
        each.close()


def test_a_fourth_connection_is_closed(relay: RelayHost) -> None:
    relay.start().wait_for("ready")
    conversation = relay.converse()
    conversation.call("echo", {"value": 1})
    fourth = relay.connect()
    with pytest.raises((ssl.SSLError, ConnectionError)):
        fourth.recv(1)
    assert conversation.call("echo", {"value": 1}) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"[]\n",
        pytest.param(b"{}\n", marks=pytest.mark.thorough),
        pytest.param(b"x" * (2 << 20), marks=pytest.mark.thorough),
    ],
)
def test_what_is_no_message_ends_the_worker(relay: RelayHost, data: bytes) -> None:
    control = relay.start()
    control.wait_for("ready")
    pid = relay.converse().call("pid")
    try:
        control.connection.sendall(data)
    except OSError:
        # It was closed in the middle of a line that is too long.
        pass
    wait_until_gone([pid, relay.keeper.pid])


# ------------------------------------------------ the end


# One that is stopped cannot act, so that it must not be the last one.
ENDS = [
    pytest.param(
        dies,
        stopped,
        marks=pytest.mark.thorough if stopped and dies != "actor" else (),
    )
    for dies in ("actor", "gateway", "host", "relay", "keeper")
    for stopped in (None, "relay", "keeper")
    if (dies, stopped) not in (("relay", "keeper"), ("keeper", "relay"))
]


@pytest.mark.parametrize(("dies", "stopped"), ENDS)
def test_nothing_is_left(relay: RelayHost, dies: str, stopped: str | None) -> None:
    control = relay.start()
    control.wait_for("ready")
    conversation = relay.converse()
    pids = [conversation.call("pid"), conversation.call("daemon")]
    processes = {"relay": relay.relay_pid, "keeper": relay.keeper.pid}
    if stopped is not None:
        os.kill(processes[stopped], signal.SIGSTOP)
    if dies == "actor" or (stopped == "relay" and dies in ("gateway", "host")):
        # The gateway, or Ray, ends the actor of a relay that does not end.
        assert relay.keeper.stdin is not None
        relay.keeper.stdin.close()
    if dies == "gateway":
        control.close()
    elif dies == "host":
        relay.data.close()
    elif dies in processes:
        os.kill(processes[dies], signal.SIGKILL)
    wait_until_gone([*pids, *processes.values()])


UNSHARE = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]


@pytest.mark.skipif(
    shutil.which("unshare") is None
    or shutil.which("ip") is None
    or subprocess.run([*UNSHARE, "true"], check=False).returncode != 0,
    reason="no network namespaces here",
)
def test_a_worker_whose_network_is_gone_ends_within_the_keep_alive(
    tmp_path: Path,
) -> None:
    (tmp_path / "tools.py").write_text(TOOLS)
    program = [sys.executable, "-m", "support.partitioned_relay"]
    done = subprocess.run(
        [*UNSHARE, *program, str(tmp_path / "tools.py")],
        cwd=Path(__file__).parent.parent,
        env={**os.environ, "OUTER_NETWORK": os.readlink("/proc/self/ns/net")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Its own 4 seconds, and time for a machine that does something else.
    assert 1 < float(done.stdout) < 12


SHARING = {"fromBytes": 128 << 10, "limitBytes": 64 << 20}


@pytest.mark.parametrize("killed", ["keeper", "relay", "worker"])
def test_shared_memory_is_free_whichever_process_is_killed(
    relay: RelayHost, killed: str
) -> None:
    control = relay.start(sharedMemory=SHARING)
    control.wait_for("ready")
    conversation = relay.converse()
    worker = conversation.call("pid")
    # On its way to the worker: it has a name, which nobody has removed.
    value = bytes(1 << 20)
    message = framed(BYTES, SegmentPart("h1", 0, len(value)).head() + value)
    conversation.connection.socket.sendall(message)
    assert conversation.call("pid") == worker
    [path] = open_files(relay.relay_pid, "/dev/shm/")
    directory = os.path.dirname(path)
    assert os.listdir(directory) == ["h1"]
    pids = {"keeper": relay.keeper.pid, "relay": relay.relay_pid, "worker": worker}
    os.kill(pids[killed], signal.SIGKILL)
    wait_until_gone(list(pids.values()))
    assert not os.path.exists(directory)


def open_files(pid: int, below: str) -> set[str]:
    """Returns the paths of a process's open files in a directory."""
    links = (os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir())
    return {link for link in links if link.startswith(below)}
