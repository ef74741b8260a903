"""Enums of several kinds of values, and an id, that tests send."""

from __future__ import annotations

import enum
from uuid import UUID


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Name(str, enum.Enum):
    ANN = "ann"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


class Scale(enum.Enum):
    HALF = 0.5
    WHOLE = 1.0


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Found(enum.Enum):
    YES = "yes"

    @classmethod
    def _missing_(cls, value: object) -> Found | None:
        return cls.YES if value == "YES" else None


class Pair(enum.Enum):
    FIRST = (1, 2)


ID = UUID("12345678-1234-5678-1234-567812345678")
