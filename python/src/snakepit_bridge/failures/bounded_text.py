"""Text in messages to the host, with a limit in bytes."""

from __future__ import annotations

from snakepit_bridge.boot.control_channel import cut_in_the_middle

__all__ = ["bounded"]


def bounded(text: str, limit: int) -> str:
    """Returns at most `limit` bytes of the text: its two ends.

    Lone surrogates, which protobuf refuses, are escaped.
    """
    # An instance of a subclass may do anything.
    text = str.__str__(text)
    # Before it is copied: a text may be huge.
    data = cut_in_the_middle(text, limit).encode("utf-8", "backslashreplace")
    if len(data) <= limit:
        return data.decode()
    half = (limit - 40) // 2
    left_out = len(data) - 2 * half
    begin = data[:half].decode(errors="ignore")
    end = data[-half:].decode(errors="ignore")
    return f"{begin}\n[... {left_out} bytes ...]\n{end}"
