"""The limit: a bare loop in one thread over one Unix socket, bytes and no codec.

Frames are a length, one byte that says what is wanted, and bytes. Connects to
the socket that the first argument names; a second argument is imported first.
"""

import importlib
import socket
import struct
import sys

HEADER = struct.Struct("<IB")
ECHO, TAKE, GIVE, STREAM = range(4)
NUMBER = struct.Struct("<I")
NUMBERS = struct.Struct("<II")
READ = 256 * 1024


def main(path: str, *modules: str) -> None:
    for module in modules:
        importlib.import_module(module)
    line = socket.socket(socket.AF_UNIX)
    line.connect(path)
    line.sendall(HEADER.pack(0, ECHO))
    chunk = bytearray(READ)
    view = memoryview(chunk)
    kept = b""
    while True:
        count = line.recv_into(chunk)
        if count == 0:
            return
        data = kept + view[:count] if kept else bytes(view[:count])
        kept = answer_all(line, data)


def answer_all(line: socket.socket, data: bytes) -> bytes:
    """Answers every whole frame with one write, and returns what is left."""
    answers = []
    at = 0
    while len(data) - at >= HEADER.size:
        length, kind = HEADER.unpack_from(data, at)
        begin = at + HEADER.size
        if len(data) - begin < length:
            if length > READ:
                line.sendall(b"".join(answers))
                answer_large(line, kind, length, data[begin:])
                return b""
            break
        body = data[begin : begin + length]
        at = begin + length
        if kind == STREAM:
            items, size = NUMBERS.unpack(body)
            item = HEADER.pack(size, STREAM) + bytes(size)
            for _ in range(items):
                line.sendall(item)
        else:
            answers += reply(kind, body)
    line.sendall(b"".join(answers))
    return data[at:]


def answer_large(line: socket.socket, kind: int, length: int, begin: bytes) -> None:
    body = bytearray(length)
    body[: len(begin)] = begin
    view = memoryview(body)
    at = len(begin)
    while at < length:
        count = line.recv_into(view[at:])
        if count == 0:
            sys.exit()
        at += count
    for part in reply(kind, body):
        line.sendall(part)


def reply(kind: int, body: "bytes | bytearray") -> "list[bytes | bytearray]":
    if kind == ECHO:
        return [HEADER.pack(len(body), kind), body]
    if kind == TAKE:
        return [HEADER.pack(NUMBER.size, kind), NUMBER.pack(len(body))]
    (size,) = NUMBER.unpack(body)
    return [HEADER.pack(size, kind), bytes(size)]


main(*sys.argv[1:])
