"""The thread that carries the conversation of host and worker."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable

from snakepit_bridge.cluster.mailbox import Mailbox
from snakepit_bridge.cluster.node_segments import NodeSegments
from snakepit_bridge.cluster.pump import Pump

__all__ = ["carry_conversation"]


def carry_conversation(
    remote: ssl.SSLSocket,
    local: socket.socket,
    mailbox: Mailbox,
    left: Callable[[], None],
    broken: Callable[[str], None],
    segments: NodeSegments | None,
) -> None:
    """Carries it in a thread of its own.

    Args:
        remote: The host's connection.
        local: The worker's.
        mailbox: Of the loop that `left` and `broken` run in.
        left: Called when the host or the worker has ended the conversation.
        broken: Called with the reason when the connection to the host broke.
        segments: Of the worker's attachments; None if it shares no memory.
    """

    def run() -> None:
        try:
            Pump(remote, local, lambda: mailbox.post(left), segments).run()
            mailbox.post(left)
        except OSError as error:
            reason = f"the connection to the host broke: {error}"
            mailbox.post(lambda: broken(reason))

    threading.Thread(target=run, daemon=True).start()
