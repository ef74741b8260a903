"""Checks as JSON schemas."""

from __future__ import annotations

import re
from typing import Any

from snakepit_bridge.tools.annotations.check import Check, Schema
from snakepit_bridge.tools.annotations.named import NamedCheck

__all__ = ["SchemaDefinitions", "json_schema"]


class SchemaDefinitions:
    """The `$defs` of one JSON schema."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}
        self._schemas: dict[str, Schema] = {}

    def reference(self, check: NamedCheck) -> Schema:
        """Returns a reference to the definition of a check, which this adds."""
        name = self._names.get(check.kind)
        if name is None:
            name = self._names[check.kind] = self._free_name(check.expected)
            # Its place comes before what is within it; the check can be, too.
            self._schemas[name] = {}
            self._schemas[name] = check.definition(self)
        return {"$ref": f"#/$defs/{name}"}

    def added_to(self, schema: Schema) -> Schema:
        """Returns a schema with the definitions that it refers to."""
        return {**schema, "$defs": self._schemas} if self._schemas else schema

    def _free_name(self, wanted: str) -> str:
        # As part of a pointer; a functional `TypedDict` can have any name.
        wanted = re.sub(r"[^\w.-]", "_", wanted)
        name, count = wanted, 1
        while name in self._schemas:
            count += 1
            name = f"{wanted}{count}"
        return name


def json_schema(check: Check) -> Schema:
    """Returns the JSON schema (2020-12) of what passes a check, by itself."""
    definitions = SchemaDefinitions()
    return definitions.added_to(check.schema(definitions))
