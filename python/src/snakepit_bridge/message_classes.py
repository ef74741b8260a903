"""Makes the classes of the protocol's messages from the description of its file.

What `protoc` generates imports all of protobuf's Python, which is a quarter of a
worker's start: text formats, and an implementation for where there is none in C.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message import Message

__all__ = ["make_classes"]


def make_classes(description: bytes, module: str) -> dict[str, Any]:
    """Returns the classes of messages and enums, and the values of the enums, by name.

    Args:
        description: a serialized `FileDescriptorProto`.
        module: where the classes seem to be defined.
    """
    pool, make = _in_c(module) or _by_the_public_api()
    file = pool.AddSerializedFile(description)
    made: dict[str, Any] = {}
    for name, described in file.message_types_by_name.items():
        made[name] = make(described)
    for name, described in file.enum_types_by_name.items():
        made[name] = EnumTypeWrapper(described)
        made.update((value.name, value.number) for value in described.values)
    return made


def _in_c(module: str) -> tuple[Any, Callable[[Any], Any]] | None:
    """Returns a pool and how to make a class, of protobuf's extension in C.

    These names are not public: where one is gone, the public API does the same in
    more time.
    """
    try:
        from google._upb._message import DescriptorPool, MessageMeta
        from google.protobuf.internal import api_implementation
    except ImportError:
        return None
    if api_implementation.Type() != "upb":
        return None

    def make(described: Any) -> Any:
        names = {"DESCRIPTOR": described, "__module__": module}
        return MessageMeta(described.name, (Message,), names)

    return DescriptorPool(), make


def _by_the_public_api() -> tuple[Any, Callable[[Any], Any]]:
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message_factory import GetMessageClass

    return DescriptorPool(), GetMessageClass
