"""`grpc.health.v1.Health`, for standard health probes.

Its two messages have one field each, so they are read and written by hand instead of
with generated code from another package.
"""

from __future__ import annotations

import asyncio
from typing import Any

import grpc

HEALTH_SERVICE = "grpc.health.v1.Health"

SERVING = b"\x08\x01"
NOT_SERVING = b"\x08\x02"
SERVICE_UNKNOWN = b"\x08\x03"


class Health:
    """Reports `SERVING` from the start until the worker leaves."""

    def __init__(self, service: str) -> None:
        self._known = ("", service)
        self._left = asyncio.Event()

    def leave(self) -> None:
        """Reports `NOT_SERVING` from now on."""
        self._left.set()

    def handlers(self) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """Returns the service's methods."""
        return {
            "Check": grpc.unary_unary_rpc_method_handler(
                self._check, request_deserializer=_service_name
            ),
            "Watch": grpc.unary_stream_rpc_method_handler(
                self._watch, request_deserializer=_service_name
            ),
        }

    async def _check(self, service: str, context: Any) -> bytes:
        if service not in self._known:
            await context.abort(
                grpc.StatusCode.NOT_FOUND, f"there is no service {service!r}"
            )
        return self._status()

    async def _watch(self, service: str, context: Any) -> None:
        if service not in self._known:
            await context.write(SERVICE_UNKNOWN)
            await asyncio.Event().wait()
        await context.write(self._status())
        if not self._left.is_set():
            await self._left.wait()
            await context.write(self._status())
        await asyncio.Event().wait()

    def _status(self) -> bytes:
        return NOT_SERVING if self._left.is_set() else SERVING


def _service_name(request: bytes) -> str:
    """Reads `HealthCheckRequest`, whose field 1 is a string; `?` if it has another."""
    if not request:
        return ""
    length = request[1] if len(request) > 1 else 0
    if request[0] != 0x0A or length > 0x7F or len(request) != 2 + length:
        return "?"
    return request[2:].decode("utf-8", "replace")
