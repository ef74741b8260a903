"""Signatures of functions that are made for one annotation."""

from __future__ import annotations

from typing import Any

from snakepit_bridge.tools.signature import Signature


def taking(annotation: Any) -> Signature:
    """Returns the signature of a function whose parameter `x` has this annotation."""

    def function(x: Any) -> None: ...

    function.__annotations__["x"] = annotation
    return Signature(function)
