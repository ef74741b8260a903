"""The parts of a TypeScript file between the types: names, literals, comments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from unicodedata import ucd_3_2_0

from snakepit_bridge.values.no_image import has_digits

__all__ = ["comment", "labels", "literal", "name", "object_type", "type_name"]

# Narrower than TypeScript's rule: which other letters it accepts depends on its Unicode
# version.
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*", re.ASCII)

# What no parameter can be named, in strict code. `this` would be none, but a type.
_RESERVED = frozenset(
    [
        "arguments",
        "await",
        "break",
        "case",
        "catch",
        "class",
        "const",
        "continue",
        "debugger",
        "default",
        "delete",
        "do",
        "else",
        "enum",
        "eval",
        "export",
        "extends",
        "false",
        "finally",
        "for",
        "function",
        "if",
        "implements",
        "import",
        "in",
        "instanceof",
        "interface",
        "let",
        "new",
        "null",
        "package",
        "private",
        "protected",
        "public",
        "return",
        "static",
        "super",
        "switch",
        "this",
        "throw",
        "true",
        "try",
        "typeof",
        "var",
        "void",
        "while",
        "with",
        "yield",
    ]
)


def name(text: str) -> str:
    """Returns the name of a property or method."""
    # `new(): …` is what a constructor looks like.
    plain = _IDENTIFIER.fullmatch(text) and text != "new"
    return text if plain else literal(text)


def labels(texts: Sequence[str]) -> list[str]:
    """Returns labels of a tuple's items, or names of parameters, each another; they
    cannot be quoted."""
    found: list[str] = []
    for i, text in enumerate(texts):
        label = f"{text}_" if text in _RESERVED else text
        if not _IDENTIFIER.fullmatch(text) or label in found:
            label = f"_{i}"
        while label in found or (label != text and label in texts):
            label = f"_{label}"
        found.append(label)
    return found


def type_name(text: str) -> str:
    """Returns the name of a type, such as `PageOfInt` for `Page[int]`.

    It is never a keyword, as these begin with a small letter.
    """
    # Of `typing.List[list]`, a reader needs only `list`.
    said = re.sub(r"\b\w+\.", "", text)
    for sign, word in (("[", " of "), (",", " and "), ("|", " or "), ("]", " ")):
        said = said.replace(sign, word)
    capital = "".join(word[0].upper() + word[1:] for word in said.split())
    safe = "".join(c if _is_of_names(c) else "_" for c in capital)
    return safe if safe and not safe[0].isdigit() else f"_{safe}"


def _is_of_names(character: str) -> bool:
    """Returns whether every version of TypeScript takes it in a name: it has been a
    letter since the Unicode of old, or is of ASCII."""
    if character.isascii():
        return character.isalnum() or character in "_$"
    return ucd_3_2_0.category(character).startswith("L")


def literal(value: str | int | bool | None) -> str:
    """Returns the type of one value, as it arrives."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=not value.isprintable())
    if type(value) is int and abs(value) >= 2**53:
        return f"{value if has_digits(value) else hex(value)}n"
    return json.dumps(value)


def object_type(fields: Iterable[str]) -> str:
    """Returns the type of an object with these `name: type`."""
    inside = "; ".join(fields)
    return f"{{ {inside} }}" if inside else "Record<string, never>"


def comment(text: str) -> list[str]:
    """Returns the lines of a doc comment that cannot be left; none of no text."""
    # A surrogate by itself cannot be written into a file.
    safe = text.encode("utf-8", "replace").decode().replace("*/", r"*\/")
    # A line with an `@` in front would be a tag, or a directive of the compiler.
    lines = [re.sub(r"^(\s*)@", r"\1\\@", line.rstrip()) for line in safe.splitlines()]
    if len(lines) < 2:
        return [f"/** {line} */" for line in lines]
    return ["/**", *(f" * {line}".rstrip() for line in lines), " */"]
