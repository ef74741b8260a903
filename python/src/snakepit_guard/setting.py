"""The settings that a host gives a guard."""

from __future__ import annotations


class Setting:
    """The checked arguments, and the inherited descriptors.

    Attributes:
        socket: The path of the socket whose connections become a worker's descriptors.
        incidents: The file for incidents that happen while no host lives.
        run_id: The run that is guarded; shown by `ps` and in the incidents.
        host: The pid of the process that started the guard.
        protocol: The descriptor of the conversation with the host.
        lifeline: A connection without data; it closes when the host dies.
    """

    __slots__ = ("host", "incidents", "lifeline", "protocol", "run_id", "socket")

    def __init__(self, socket: str, incidents: str, run_id: str, host: int) -> None:
        self.socket = socket
        self.incidents = incidents
        self.run_id = run_id
        self.host = host
        self.protocol = 3
        self.lifeline = 4


def parse_arguments(arguments: list[str], host: int) -> Setting | None:
    """Parses `--socket PATH --incidents PATH --run-id ID`; `None` if they are not that."""
    names, values = arguments[::2], arguments[1::2]
    given = dict(zip(names, values, strict=False))
    if len(arguments) != 6 or given.keys() != {"--socket", "--incidents", "--run-id"}:
        return None
    return Setting(given["--socket"], given["--incidents"], given["--run-id"], host)
