"""The encoding of an object that is not sent: the host's token for it, and its type."""

from __future__ import annotations

import msgpack

from snakepit_bridge.values import extension_types as ext


def reference_image(token: bytes, value: object) -> bytes:
    """Returns the encoding of an object that a session holds under a token."""
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    # A Python name may contain characters that text cannot.
    name = name.encode("utf-8", "backslashreplace").decode()
    data: bytes = msgpack.packb([token, name], use_bin_type=True)
    encoding: bytes = msgpack.packb(msgpack.ExtType(ext.HANDLE, data))
    return encoding


def token_of(data: bytes) -> bytes:
    """Returns the token of such an encoding.

    Raises:
        ValueError: it has none.
    """
    try:
        token, _ = msgpack.unpackb(data)
    except Exception:  # noqa: BLE001 - msgpack has several of its own
        token = None
    if type(token) is not bytes:
        raise ValueError("is a handle without a token")
    return token
