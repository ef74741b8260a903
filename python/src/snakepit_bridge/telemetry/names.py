"""Every name that the bridge gives to telemetry, in one table.

OpenTelemetry's semantic conventions where they have one; `snakepit.*` otherwise.
"""

from __future__ import annotations

from typing import Final

SCOPE: Final = "snakepit_bridge"
# The first version of the conventions in which those for RPC are stable.
SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.45.0"

# ------------------------------------------------- of a tool's span, from its start
RPC_SYSTEM_NAME: Final = "rpc.system.name"
RPC_SYSTEM: Final = "snakepit"
RPC_METHOD: Final = "rpc.method"
CODE_FUNCTION_NAME: Final = "code.function.name"
WORKER_ID: Final = "snakepit.worker.id"
CALL_NUMBER: Final = "snakepit.call.number"
TOOL_KIND: Final = "snakepit.tool.kind"
BATCH_SIZE: Final = "snakepit.batch.size"

# ------------------------------------------- of the span of a host function, its client
BACK_CALL: Final = "back-call"

# --------------------------------------------------------- of a tool's span, at its end
ERROR_TYPE: Final = "error.type"
CANCEL_REASON: Final = "snakepit.call.cancel_reason"

# ------------------------------------------------------- of the event about an exception
EXCEPTION: Final = "exception"
EXCEPTION_TYPE: Final = "exception.type"
EXCEPTION_MESSAGE: Final = "exception.message"
EXCEPTION_STACKTRACE: Final = "exception.stacktrace"
# Of the log record about it, if the user chose log records.
SERVER_EXCEPTION: Final = "rpc.server.call.exception"

# ---------------------------------------------- of the resource, where we configure it
SERVICE_NAME: Final = "service.name"
SERVICE_INSTANCE_ID: Final = "service.instance.id"
PROCESS_PID: Final = "process.pid"
HOST_NAME: Final = "host.name"
