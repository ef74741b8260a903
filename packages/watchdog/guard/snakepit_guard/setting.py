"""What the host starts a guard with."""

from __future__ import annotations


class Setting:
    """The arguments, checked, and the descriptors that are inherited.

    Attributes:
        socket: Where connections are taken that become a worker's descriptors.
        incidents: The file for what is done while no host lives.
        run_id: The run that is guarded; for people who look at `ps`, and the incidents.
        host: The pid of the process that started the guard.
        protocol: The conversation with the host.
        lifeline: Nothing is ever said there; it closes when the host dies.
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
    """Reads `--socket PATH --incidents PATH --run-id ID`; `None` when they are not that."""
    names, values = arguments[::2], arguments[1::2]
    given = dict(zip(names, values, strict=False))
    if len(arguments) != 6 or given.keys() != {"--socket", "--incidents", "--run-id"}:
        return None
    return Setting(given["--socket"], given["--incidents"], given["--run-id"], host)
