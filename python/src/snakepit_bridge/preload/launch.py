"""What the host wants of a preloaded parent."""

from __future__ import annotations

from snakepit_bridge.boot.control_channel import LaunchInvalid
from snakepit_bridge.boot.launch_message import Launch


class PreloadLaunch(Launch):
    """The launch message of a preloaded parent (docs/bridge-protocol.md, section 6).

    Attributes:
        modules: The names of modules to import.
        imports_tools: Whether the tools are imported, too.
        host_pid: The only process that may hand over descriptors.
    """

    def _read(self) -> None:
        super()._read()
        payload = self.payload
        modules = payload.get("modules")
        if not isinstance(modules, list):
            raise LaunchInvalid("payload.modules is no list")
        self.modules = [str(name) for name in modules]
        self.imports_tools = payload.get("importTools") is True
        host_pid = payload.get("hostPid")
        if not isinstance(host_pid, int):
            raise LaunchInvalid(f"payload.hostPid is no number: {host_pid!r}")
        self.host_pid = host_pid
