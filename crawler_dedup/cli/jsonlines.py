"""The JSON Lines that commands print with ``--json``, and the page that documents them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from crawler_dedup.cli.jsontypes import LINES
from crawler_dedup.cli.jsontypes.base import Line, Part

_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null", Any: "any value"}


def print_json(lines: Iterable[Line]) -> None:
    """Print *lines* on stdout, always in UTF-8."""
    encode = msgspec.json.Encoder().encode
    for line in lines:
        sys.stdout.buffer.write(encode(line) + b"\n")  # flushed when the buffer is full; click.echo flushes each line
    sys.stdout.buffer.flush()


def json_reference() -> str:
    """Return the text of ``docs/json.md``."""
    parts = [
        "# JSON Lines\n",
        "With `--json` a command prints one JSON object a line, in UTF-8, and nothing else on stdout; messages and progress",
        "bars are printed on stderr. The first field of each object, `type`, says what it is. Times are in UTC (ISO 8601),",
        "shares are from 0 to 1, sizes are in bytes. Later versions may add fields and types: a program should ignore those",
        "that it does not know.",
        "\nThis page is printed by",
        "`python -c \"from crawler_dedup.cli.jsonlines import json_reference as page; print(page(), end='')\"`.",
    ]
    for line in LINES:
        parts += _section(f"`{line.__struct_config__.tag}`", line)
    used = {part for line in LINES for hint in _hints(line).values() for part in _parts_in(hint)}
    for part in sorted(used, key=lambda part: part.__name__):
        parts += _section(part.__name__, part)
    return "\n".join(parts) + "\n"


def _section(heading: str, struct: type[msgspec.Struct]) -> list[str]:
    """Return the lines of the page about one type."""
    description = " ".join((struct.__doc__ or "").split())
    rows = [f"| `{name}` | {_type_name(hint)} | {_description(hint)} |" for name, hint in _hints(struct).items()]
    return [f"\n## {heading}\n", f"{description}\n", "| field | type | meaning |", "|---|---|---|", *rows]


def _hints(struct: type[msgspec.Struct]) -> dict[str, Any]:
    hints = get_type_hints(struct, include_extras=True)
    return {name: hints[name] for name in struct.__struct_fields__}


def _parts_in(hint: Any) -> Iterable[type[Part]]:
    """Yield the parts that a type contains, also within other parts."""
    if isinstance(hint, type) and issubclass(hint, Part):
        yield hint
        for inner in _hints(hint).values():
            yield from _parts_in(inner)
    for argument in get_args(hint):
        yield from _parts_in(argument)


def _description(hint: Any) -> str:
    return next(note.description for note in get_args(hint)[1:] if isinstance(note, Meta) and note.description)


def _type_name(hint: Any) -> str:
    if isinstance(hint, type) and issubclass(hint, Part):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    if hint in _NAMES:
        return _NAMES[hint]
    arguments = get_args(hint)
    if get_origin(hint) is Literal:
        return ", ".join(f'`"{word}"`' for word in arguments)
    names = [_type_name(argument) for argument in arguments if not isinstance(argument, Meta)]
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(names)
    return {Annotated: "{0}", list: "array of {0}", dict: "object of {1}"}[get_origin(hint)].format(*names)
