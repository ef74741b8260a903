"""Accepts connections to the worker's socket and checks their token."""

from __future__ import annotations

import _socket as socket
import contextlib
import os

# The function behind `hmac`'s: importing `hmac` takes longer than all of a worker's
# sockets.
from _operator import _compare_digest as compare_digest
from collections.abc import Callable

from snakepit_bridge.bridge.frame_codec import (
    BYE,
    HEALTH,
    decode_signal,
    encode_signal,
)
from snakepit_bridge.bridge.framed_transport.frame_parser import (
    SIGNAL,
    FrameParser,
    Malformed,
    framed,
)
from snakepit_bridge.frames import Undecodable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from snakepit_bridge.threads.bridge_loop import Loop

# The size of a token with the bytes around it.
MAX_MESSAGE = 4 << 10
# The time to send the token, or to ask for the health. Time in which this process was
# suspended does not count: then the host was suspended as well.
DEADLINE_S = 5.0
# A further connection replaces the one that has been silent for longest.
MOST_GUESTS = 16
# How long no connection is accepted after one could not be.
PAUSE_S = 0.2
# With more pending connections, a connect fails.
BACKLOG = 128
# If a timer is this late, the process itself was stopped or suspended.
STANDSTILL_S = 0.5


class Reception:
    """Listens on the worker's socket; only the bridge's thread uses it.

    A client without the token costs at most a few kilobytes, and is disconnected.
    """

    def __init__(
        self,
        loop: Loop,
        path: str,
        token: str,
        admit: Callable[[socket.socket], str | None],
    ) -> None:
        """`admit` is given a connection that sent the token. If it returns a reason why
        that cannot be served, the connection is closed."""
        self.is_serving = True
        self._loop = loop
        self._path = path
        self._token = token.encode()
        self._admit = admit
        self._listener: socket.socket | None = None
        self._guests: dict[int, _Guest] = {}

    def open(self) -> None:
        """Listens.

        Raises:
            OSError: the socket cannot be used.
        """
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.setblocking(False)
        # With this mask, only this user may open the socket file, from its creation on.
        before = os.umask(0o177)
        try:
            listener.bind(self._path)
        except OSError:
            listener.close()
            raise
        finally:
            os.umask(before)
        listener.listen(BACKLOG)
        self._listener = listener
        self._watch(listener)

    def close(self) -> None:
        """Stops listening, and closes the connections that are not admitted."""
        for guest in list(self._guests.values()):
            guest.drop()
        if self._listener is not None:
            self._loop.remove_reader(self._listener.fileno())
            self._listener.close()
            self._listener = None
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)

    def _watch(self, listener: socket.socket) -> None:
        if listener is self._listener:
            self._loop.add_reader(listener.fileno(), self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        try:
            descriptor, _ = listener._accept()  # type: ignore[attr-defined]
        except BlockingIOError:
            # The client is gone again.
            return
        except OSError:
            # No descriptor is left. The client waits, and would wake the loop all the time.
            self._loop.remove_reader(listener.fileno())
            self._loop.call_later(PAUSE_S, self._watch, listener)
            return
        connection = socket.socket(fileno=descriptor)
        connection.setblocking(False)
        if len(self._guests) >= MOST_GUESTS:
            next(iter(self._guests.values())).drop()
        guest = _Guest(self, connection)
        self._guests[connection.fileno()] = guest

    def _received(self, guest: _Guest, kind: str | None, values: list[Any]) -> None:
        if kind == "health":
            guest.send(encode_signal(HEALTH, self.is_serving))
        elif kind != "hello":
            guest.refuse("UNAUTHENTICATED", "the token comes first")
        elif not compare_digest(values[0].encode(), self._token):
            guest.refuse("UNAUTHENTICATED", "the token is wrong")
        else:
            connection = guest.release()
            problem = self._admit(connection)
            if problem is not None:
                _send_bye(connection, "BUSY", problem)
                connection.close()


class RunTimeDeadline:
    """Calls `action` after a number of seconds in which this process ran.

    Messages that arrived while the process was stopped are read before more time is
    counted.
    """

    def __init__(
        self,
        loop: Loop,
        seconds: float,
        action: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._left = seconds
        self._action = action
        self._wait()

    def cancel(self) -> None:
        """Prevents the call of `action`."""
        self._timer.cancel()

    def _wait(self) -> None:
        self._part = min(self._left, STANDSTILL_S)
        self._due = self._loop.time() + self._part
        self._timer = self._loop.call_at(self._due, self._is_due)

    def _is_due(self) -> None:
        if self._loop.time() - self._due < STANDSTILL_S:
            self._left -= self._part
        if self._left > 0:
            self._wait()
        else:
            self._action()


class _Guest:
    """A connection that has not sent the token."""

    def __init__(self, reception: Reception, connection: socket.socket) -> None:
        self._reception = reception
        self._connection = connection
        self._parser = FrameParser(MAX_MESSAGE)
        loop = reception._loop
        self._deadline = RunTimeDeadline(loop, DEADLINE_S, self.drop)
        loop.add_reader(connection.fileno(), self._read)

    def send(self, signal: bytes) -> None:
        """Sends a signal; closes if the other end does not read."""
        if not _send(self._connection, signal):
            self.drop()

    def refuse(self, reason: str, message: str) -> None:
        """Sends the reason, and closes."""
        _send_bye(self._connection, reason, message)
        self.drop()

    def drop(self) -> None:
        """Closes."""
        if self._connection.fileno() >= 0:
            self.release().close()

    def release(self) -> socket.socket:
        """Returns the connection, which the caller takes over."""
        self._deadline.cancel()
        self._reception._loop.remove_reader(self._connection.fileno())
        self._reception._guests.pop(self._connection.fileno(), None)
        return self._connection

    def _read(self) -> None:
        try:
            data = self._connection.recv(MAX_MESSAGE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.drop()
            return
        try:
            self._parsed(self._parser.feed(data))
        except (Malformed, Undecodable) as error:
            self.refuse("MALFORMED", f"not a signal: {error}")

    def _parsed(self, messages: list[tuple[int, bytes]]) -> None:
        for number, (kind, body) in enumerate(messages, 1):
            if kind != SIGNAL:
                raise Malformed("the token comes first")
            signal, values = decode_signal(body)
            if signal == "hello" and number < len(messages):
                raise Malformed("the token must be the last message before the welcome")
            self._reception._received(self, signal, values)
            if self._connection.fileno() not in self._reception._guests:
                return


def _send(connection: socket.socket, signal: bytes) -> bool:
    data = framed(SIGNAL, signal)
    try:
        return connection.send(data) == len(data)
    except OSError:
        return False


def _send_bye(connection: socket.socket, reason: str, message: str) -> None:
    _send(connection, encode_signal(BYE, reason, message))
