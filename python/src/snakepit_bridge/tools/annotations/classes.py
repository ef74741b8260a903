"""Checks of classes: a program's own classes, and those of the standard library and of
other libraries.
"""

from __future__ import annotations

import sys
from typing import Any

from snakepit_bridge.tools.annotations.check import Check, Within
from snakepit_bridge.tools.annotations.decoded import own_check
from snakepit_bridge.tools.annotations.records import record_check
from snakepit_bridge.tools.annotations.standard import standard_check

__all__ = ["class_check"]


def class_check(
    kind: type, arguments: tuple[Any, ...], annotation: Any, within: Within
) -> Check | None:
    """Returns the check of a class; None where it is not known what it is sent as.

    Args:
        kind: the class.
        arguments: what is given for its type parameters.
        annotation: the class with these.
        within: where it occurs.

    Raises:
        Unsupported: no value that can cross is an instance.
    """
    return (
        own_check(kind, within)
        or _model_check(kind, annotation, within)
        or standard_check(kind)
        or record_check(kind, arguments, annotation, within)
        or _scalar_check(kind, within)
        or _library_check(kind, within)
    )


def _model_check(kind: type, annotation: Any, within: Within) -> Check | None:
    # Only a program that uses pydantic has models.
    if "pydantic" not in sys.modules:
        return None
    from snakepit_bridge.tools.annotations.models import model_check

    return model_check(kind, annotation, within)


def _scalar_check(kind: type, within: Within) -> Check | None:
    if "numpy" not in sys.modules:
        return None
    from snakepit_bridge.tools.annotations.numpy_scalars import scalar_check

    return scalar_check(kind, within)


def _library_check(kind: type, within: Within) -> Check | None:
    arrives = (kind.__module__.partition(".")[0], kind.__name__) == ("pyarrow", "Table")
    if within.in_model and not within.answered and not arrives:
        # pydantic takes only instances: the input of a validator is not known.
        return None
    # Modules that few tools need.
    from snakepit_bridge.tools.annotations.tables import library_check

    return library_check(kind)
