"""The bare way: one grpcio server on a Unix socket, bytes and no codec.

Arguments: the socket, `threads` or `asyncio`, and modules to import first.
Prints a line when it listens.
"""

import asyncio
import importlib
import struct
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

NUMBER = struct.Struct("<I")
NUMBERS = struct.Struct("<II")
OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
]
items_produced = 0


def echo(request: bytes, _context: Any) -> bytes:
    return request


def take(request: bytes, _context: Any) -> bytes:
    return NUMBER.pack(len(request))


def give(request: bytes, _context: Any) -> bytes:
    return bytes(NUMBER.unpack(request)[0])


def echo_array(request: bytes, _context: Any) -> bytes:
    import numpy as np

    return np.frombuffer(request).tobytes()


def produced(_request: bytes, _context: Any) -> bytes:
    return NUMBER.pack(items_produced)


def stream(request: bytes, _context: Any) -> Iterator[bytes]:
    global items_produced
    items_produced = 0
    items, size = NUMBERS.unpack(request)
    item = bytes(size)
    for _ in range(items):
        items_produced += 1
        yield item


METHODS = {
    "Echo": echo,
    "Take": take,
    "Give": give,
    "EchoArray": echo_array,
    "Produced": produced,
}


async def echo_async(request: bytes, _context: Any) -> bytes:
    return request


def handlers(methods: dict[str, Any]) -> grpc.GenericRpcHandler:
    unary = grpc.unary_unary_rpc_method_handler
    named = {name: unary(function) for name, function in methods.items()}
    named["Stream"] = grpc.unary_stream_rpc_method_handler(stream)
    return grpc.method_handlers_generic_handler("bench.Bench", named)


def serve_with_threads(path: str) -> None:
    server = grpc.server(ThreadPoolExecutor(max_workers=16), options=OPTIONS)
    server.add_generic_rpc_handlers([handlers(METHODS)])
    server.add_insecure_port(f"unix:{path}")
    server.start()
    print("ready", flush=True)
    server.wait_for_termination()


async def serve_with_asyncio(path: str) -> None:
    server = grpc.aio.server(options=OPTIONS)
    server.add_generic_rpc_handlers([handlers({"Echo": echo_async})])
    server.add_insecure_port(f"unix:{path}")
    await server.start()
    print("ready", flush=True)
    await server.wait_for_termination()


def main(path: str, manner: str, *modules: str) -> None:
    for module in modules:
        importlib.import_module(module)
    if manner == "asyncio":
        asyncio.run(serve_with_asyncio(path))
    else:
        serve_with_threads(path)


main(*sys.argv[1:])
