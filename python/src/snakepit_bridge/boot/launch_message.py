"""The launch message: the host's orders for this worker."""

from __future__ import annotations

from snakepit_bridge.boot.control_channel import LaunchInvalid, StartFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TRANSPORTS = ("grpc", "framed")
DEBUG_MODES = ("terminal", "socket", "debugpy")


class ToolSource:
    """Where tools are.

    Attributes:
        module: The name of a module; None for a file.
        file: The path of a file; None for a module.
        expose: The names of undecorated functions that are tools; None if the source
            declares its tools.
    """

    def __init__(self, source: object) -> None:
        if not isinstance(source, dict) or ("module" in source) == ("file" in source):
            raise LaunchInvalid("payload.tools names neither a module nor a file")
        self.module = text_of(source, "module") if "module" in source else None
        self.file = None if self.module else text_of(source, "file")
        expose = source.get("expose")
        if expose is not None and not isinstance(expose, list):
            raise LaunchInvalid("payload.tools has an expose that is not a list")
        self.expose = None if expose is None else [str(name) for name in expose]

    @property
    def origin(self) -> str:
        """The module or the file."""
        return self.module or self.file or ""


class HandleSetting:
    """The handles that the host allows.

    Attributes:
        imports: The names of modules that it may import.
        limit: How many objects a session may hold.
    """

    def __init__(self, setting: dict[str, object]) -> None:
        imports = setting.get("imports")
        if not isinstance(imports, list):
            raise LaunchInvalid("payload.handles.imports is not a list")
        self.imports = [str(name) for name in imports]
        self.limit = _integer(setting, "limit", None)


class TelemetrySetting:
    """What the worker does with an OpenTelemetry SDK that it configures itself.

    Attributes:
        service_name: The name of its service; None if its variables name it.
        instruments: Whether the installed instrumentors run.
    """

    def __init__(self, setting: dict[str, object]) -> None:
        self.service_name = (
            text_of(setting, "serviceName") if "serviceName" in setting else None
        )
        self.instruments = setting.get("instrument") is True


class Launch:
    """The launch message, checked (docs/bridge-protocol.md, section 1)."""

    def __init__(self, message: dict[str, object]) -> None:
        """Reads the lifeline, which step 2 needs. `read` reads the rest after that.

        Raises:
            LaunchInvalid: it has no lifeline.
        """
        self._message = message
        self.lifeline = text_of(message, "lifeline")

    def read(self, run_id: str) -> None:
        """Reads the rest.

        Raises:
            StartFailed: a field is missing or of the wrong type, or the message
                is meant for another run.
        """
        try:
            self._read()
        except LaunchInvalid as error:
            raise StartFailed(
                "LAUNCH_INVALID", f"the launch message cannot be used: {error}"
            ) from None
        if self.run_id != run_id:
            raise StartFailed(
                "LAUNCH_INVALID",
                f"--run-id is {run_id}, but the launch message is for run {self.run_id}",
            )

    def _read(self) -> None:
        message = self._message
        if message.get("snakepit") != 1:
            raise LaunchInvalid(f"its version is {message.get('snakepit')!r}, not 1")
        self.run_id = text_of(message, "runId")
        self.worker_id = text_of(message, "workerId")
        self.incarnation = text_of(message, "incarnation")
        self.token = text_of(message, "token")
        payload = message.get("payload")
        if not isinstance(payload, dict):
            raise LaunchInvalid("it has no payload")
        self.payload: dict[str, object] = payload
        protocol = object_of(payload, "protocol") or {}
        self.oldest_protocol = _integer(protocol, "min", None)
        self.newest_protocol = _integer(protocol, "max", None)
        self.host_package = str(payload.get("hostPackage") or "the host's package")
        self.socket = text_of(payload, "socket")
        tools = payload.get("tools")
        if not isinstance(tools, list) or not tools:
            raise LaunchInvalid("payload.tools is not a list with an entry")
        self.tools = [ToolSource(source) for source in tools]
        tool_path = payload.get("toolPath", [])
        if not isinstance(tool_path, list):
            raise LaunchInvalid("payload.toolPath is not a list")
        self.tool_path = [str(directory) for directory in tool_path]
        self.transport = _one_of(payload, "transport", TRANSPORTS)
        self.calls_per_worker = _integer(payload, "callsPerWorker", 1)
        self.max_message_bytes = _integer(payload, "maxMessageBytes", 64 << 20)
        self.silence_warn_ms = _integer(payload, "silenceWarnMs", 30000)
        self.log_level = _integer(payload, "logLevel", 20)
        self.telemetry = TelemetrySetting(object_of(payload, "telemetry") or {})
        handles = object_of(payload, "handles")
        self.handles = None if handles is None else HandleSetting(handles)
        self.shared_memory = _shared_memory(payload)
        # Also used by a relay, which forwards it.
        self.is_relayed = payload.get("relayed") is True
        watch = object_of(payload, "watch")
        self.watches = watch is not None
        types = watch.get("types") if watch else None
        self.types_file = types if isinstance(types, str) else None
        self.debug = _debug(payload)
        self.call_page = text_of(payload, "callPage") if "callPage" in payload else None


def _shared_memory(payload: dict[str, object]) -> tuple[str, int, int] | None:
    """Returns the arguments of `SharedMemory`; None if values are not shared."""
    setting = object_of(payload, "sharedMemory")
    if setting is None:
        return None
    return (
        text_of(setting, "directory"),
        _integer(setting, "fromBytes", None),
        _integer(setting, "limitBytes", None),
    )


def _debug(payload: dict[str, object]) -> tuple[str, str] | None:
    """Returns where `breakpoint()` stops, and the path of the socket; None if nowhere."""
    setting = object_of(payload, "debug")
    if setting is None:
        return None
    return _one_of(setting, "mode", DEBUG_MODES), text_of(setting, "socket")


def object_of(payload: dict[str, object], name: str) -> dict[str, Any] | None:
    """Returns a field of the payload; None if it is missing."""
    value = payload.get(name)
    if value is not None and not isinstance(value, dict):
        raise LaunchInvalid(f"payload.{name} is not an object")
    return value


def text_of(message: dict[str, object], name: str) -> str:
    value = message.get(name)
    if not isinstance(value, str) or not value:
        raise LaunchInvalid(f"{name} is not a non-empty string: {value!r}")
    return value


def _one_of(message: dict[str, object], name: str, known: tuple[str, ...]) -> str:
    value = message.get(name, known[0])
    if not isinstance(value, str) or value not in known:
        raise LaunchInvalid(f"{name} is not one of {', '.join(known)}: {value!r}")
    return value


def _integer(message: dict[str, object], name: str, default: int | None) -> int:
    value = message.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise LaunchInvalid(f"{name} is not a whole number: {value!r}")
    return value
