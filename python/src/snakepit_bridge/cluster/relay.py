"""The relay: the host of one worker on a node of the cluster.

It ends all processes of the worker when the worker has ended, or when the gateway, the
host or its own parent is gone (docs/bridge-protocol.md, section 8).
"""

from __future__ import annotations

import contextlib
import functools
import os
import selectors
import signal
import socket
import ssl
import time
from collections.abc import Callable

from snakepit_bridge.boot.control_channel import MAX_LINE
from snakepit_bridge.cluster.certificates import (
    FACTS_DESCRIPTOR,
    SETUP_DESCRIPTOR,
    RelaySetup,
)
from snakepit_bridge.cluster.conversation import (
    Mailbox,
    NodeSegments,
    carry_conversation,
)
from snakepit_bridge.cluster.descendants import (
    Children,
    Usage,
    kill_descendants,
    usage_of_descendants,
)
from snakepit_bridge.cluster.hosted_worker import (
    Directories,
    HostedWorker,
    local_message,
)
from snakepit_bridge.cluster.json_lines import LineInvalid, LineReader, line
from snakepit_bridge.cluster.relay_listener import (
    Admission,
    ControlConnection,
    end_when_silent,
)

READ_BYTES = 64 << 10
USAGE_S = 1.0
# A worker whose conversation is over exits by itself within this time.
LEAVING_S = 5.0
# The time for output that the gateway has not read at the end.
FAREWELL_S = 2.0
# A dump signal is for the worker alone: it would end what the tools have started.
SIGNALS_OF_GROUP = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)


class Relay:
    """One worker, from the setup that the actor gives to the end of all it started."""

    def __init__(
        self, setup: RelaySetup, directories: Directories, keeper: socket.socket
    ) -> None:
        """Takes over the connection to the keeper, which ends when that does."""
        self._setup = setup
        self._directories = directories
        self._selector = selectors.DefaultSelector()
        self._mailbox = Mailbox()
        self._children = Children(self._mailbox.wakeup.fileno())
        self._control: ControlConnection | None = None
        self._life: ssl.SSLSocket | None = None
        self._worker: HostedWorker | None = None
        self._ready_line = LineReader(MAX_LINE)
        self._has_conversation = False
        self._usage = Usage(0, 0)
        # Why everything must end although the worker has not ended.
        self._reason: str | None = None
        self._deadline = time.monotonic() + setup.start_timeout_ms / 1000
        self._late = "the gateway did not connect in time"
        self._listen_to(keeper, lambda: self._end("the relay's parent process is gone"))
        # The keeper also notices it, unless it is stopped.
        self._listen_to(SETUP_DESCRIPTOR, lambda: self._end("the Ray actor is gone"))
        self._listen_to(self._mailbox, self._mailbox.deliver)

    def run(self) -> None:
        """Runs until the worker has ended, or must end; no process of it is left then.

        Raises:
            OSError: the address cannot be used, or there are no certificates.
        """
        admission = self._admission()
        next_usage = time.monotonic() + USAGE_S
        while self._reason is None and not self._has_ended():
            until = min(self._deadline, next_usage) - time.monotonic()
            for key, _ in self._selector.select(max(0.0, until)):
                key.data()
            if time.monotonic() >= self._deadline:
                self._end(self._late)
            if time.monotonic() >= next_usage:
                next_usage = time.monotonic() + USAGE_S
                self._report_usage()
        admission.close()
        kill_descendants(self._children.collect)
        self._say_farewell()

    def _has_ended(self) -> bool:
        self._children.collect()
        return self._worker is not None and self._status is not None

    @property
    def _status(self) -> int | None:
        worker = self._worker
        return None if worker is None else self._children.statuses.get(worker.pid)

    def _listen_to(self, source: object, act: Callable[[], object]) -> None:
        self._selector.register(source, selectors.EVENT_READ, act)  # type: ignore[arg-type]

    def _end(self, reason: str) -> None:
        self._reason = self._reason or reason

    # ------------------------------------------------ connections

    def _admission(self) -> Admission:
        """Listens, and reports address and certificate to the actor."""
        setup = self._setup
        identity, context = setup.secure()
        admission = Admission(setup.address, context, setup.certificate, self._admit)
        facts = line(
            host=setup.address,
            port=admission.port,
            certificate=identity.certificate,
            sharedBytes=self._directories.room_for_one_value(),
        )
        os.write(FACTS_DESCRIPTOR, facts)
        return admission

    def _admit(self, connection: ssl.SSLSocket) -> bool:
        # Runs in the thread of a handshake.
        return self._mailbox.ask(lambda: self._take(connection))

    def _take(self, connection: ssl.SSLSocket) -> bool:
        """The first two are the gateway's, the third is the host's; there is no fourth."""
        if self._control is None:
            self._control = ControlConnection(connection)
            self._listen_to(self._control, self._receive)
            self._control.send(admitted="control")
            return True
        if self._life is None:
            end_when_silent(connection, self._setup.keep_alive_ms)
            self._life = connection
            self._listen_to(
                connection, lambda: self._end("the gateway or its machine is gone")
            )
            self._control.send(admitted="life")
            return True
        if self._worker is None or self._has_conversation:
            return False
        try:
            local = self._worker.connect()
        except OSError:
            # The worker does not listen yet, or is gone.
            return False
        self._has_conversation = True
        self._deadline = float("inf")
        carry_conversation(
            connection,
            local,
            self._mailbox,
            left=self._left,
            broken=self._end,
            segments=self._segments(),
        )
        return True

    def _segments(self) -> NodeSegments | None:
        """Called by the thread of the conversation."""

        def say(words: str) -> None:
            self._mailbox.post(functools.partial(self._say, words))

        shared = self._directories.shared
        return None if shared is None else NodeSegments(shared, say)

    def _say(self, words: str) -> None:
        assert self._control is not None
        self._control.send_output("stderr", f"snakepit: {words}\n".encode())
        self._flush()

    def _left(self) -> None:
        self._deadline = min(self._deadline, time.monotonic() + LEAVING_S)
        self._late = (
            f"the worker was still there {LEAVING_S:g} s after its conversation ended"
        )

    def _receive(self) -> None:
        control = self._control
        assert control is not None
        try:
            for message in control.receive():
                self._act(message)
        except EOFError:
            self._end("the gateway is gone")
        except (OSError, LineInvalid) as error:
            self._end(f"the connection to the gateway broke: {error}")
        self._flush()

    def _act(self, message: dict[str, object]) -> None:
        number = signal.Signals.__members__.get(str(message.get("signal")))
        launch = message.get("launch")
        if self._worker is None and isinstance(launch, dict):
            self._start(launch)
        elif self._worker is not None and number is not None:
            if self._status is None:
                send = os.killpg if number in SIGNALS_OF_GROUP else os.kill
                send(self._worker.pid, number)
        else:
            raise LineInvalid(f"an unexpected message: {list(message)}")

    def _flush(self) -> None:
        """Sends waiting data, now or when that is possible."""
        control = self._control
        assert control is not None
        try:
            control.flush()
        except OSError as error:
            self._end(f"the connection to the gateway broke: {error}")
            return
        events = selectors.EVENT_READ
        if control.has_waiting:
            events |= selectors.EVENT_WRITE
        self._selector.modify(control, events, self._receive)

    # ------------------------------------------------ the worker

    def _start(self, launch: dict[str, object]) -> None:
        sources = self._setup.sources
        message = local_message(launch, self._directories, sources)
        os.chdir(os.path.join(sources, self._setup.directory))
        env = launch["payload"].get("env")  # type: ignore[attr-defined]
        self._worker = worker = HostedWorker(message, env or {})
        self._deadline = time.monotonic() + 2 * self._setup.start_timeout_ms / 1000
        self._late = "the host did not connect in time"
        self._listen_to(worker.control, self._read_ready_line)
        for stream, descriptor in worker.outputs.items():
            os.set_blocking(descriptor, False)
            act = functools.partial(self._pass_output, stream, descriptor)
            self._listen_to(descriptor, act)

    def _read_ready_line(self) -> None:
        assert self._worker is not None and self._control is not None
        data = self._worker.control.recv(MAX_LINE)
        answers = list(self._ready_line.feed(data))
        if answers or not data:
            self._selector.unregister(self._worker.control)
        for answer in answers[:1]:
            if isinstance(ready := answer.get("ready"), dict):
                ready["pid"] = self._worker.pid
            self._control.send(**answer)
        self._flush()

    def _pass_output(self, stream: str, descriptor: int) -> bool:
        """Passes a piece of output on; returns whether there may be more."""
        assert self._control is not None
        try:
            data = os.read(descriptor, READ_BYTES)
        except BlockingIOError:
            return False
        if data:
            self._control.send_output(stream, data)
            self._flush()
        else:
            assert self._worker is not None
            self._selector.unregister(descriptor)
            del self._worker.outputs[stream]
        return bool(data)

    def _report_usage(self) -> None:
        if self._worker is None or self._control is None:
            return
        usage = usage_of_descendants(self._children.cpu_s)
        if usage != self._usage:
            self._usage = usage
            self._control.send(
                usage={"cpuMs": usage.cpu_ms, "residentBytes": usage.resident_bytes}
            )
            self._flush()

    # ------------------------------------------------ the end

    def _say_farewell(self) -> None:
        """Sends the rest of the output, and how the worker ended."""
        control, worker = self._control, self._worker
        if control is None or worker is None:
            return
        for stream, descriptor in list(worker.outputs.items()):
            while self._pass_output(stream, descriptor):
                pass
        if self._reason is not None:
            text = f"snakepit: the relay ended the worker: {self._reason}\n"
            control.send_output("stderr", text.encode())
        with contextlib.suppress(OSError):
            control.send(exit=how_it_ended(self._status))
            control.finish(FAREWELL_S)


def how_it_ended(status: int | None) -> dict[str, object]:
    """Returns an exit status in the gateway's form."""
    if status is None or status < 0:
        number = signal.SIGKILL if status is None else signal.Signals(-status)
        return {"signal": number.name}
    return {"code": status}
