"""Who may speak to this worker: whoever knows its token."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
from grpc import aio

__all__ = ["TOKEN_KEY", "Guard"]

TOKEN_KEY = "snakepit-token"

_Context = aio.ServicerContext[Any, Any]


class Guard:
    """Lets only those calls of an RPC through that carry the token."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    def unary(
        self, behaviour: Callable[[Any, Any], Awaitable[Any]]
    ) -> Callable[[Any, Any], Awaitable[Any]]:
        """Guards an RPC that has one answer, or writes its answers itself."""

        async def guarded(request: Any, context: Any) -> Any:
            if not self._knows(context):
                await context.abort(
                    grpc.StatusCode.UNAUTHENTICATED,
                    f"the metadata {TOKEN_KEY!r} is missing or wrong",
                )
            return await behaviour(request, context)

        return guarded

    def _knows(self, context: Any) -> bool:
        for key, value in context.invocation_metadata() or ():
            if key == TOKEN_KEY:
                given = value.encode() if isinstance(value, str) else value
                return hmac.compare_digest(given, self._token)
        return False
