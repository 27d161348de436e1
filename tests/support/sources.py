"""What the result of a function depends on in the source of signing and rules."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Collection, Iterator
from functools import cache
from importlib import import_module

from xxhash import xxh3_64_hexdigest

_PACKAGES = ("crawler_dedup.signing.", "crawler_dedup.rules.")
_Definition = tuple[str, str]  # module and name


def digest_source(module: str, name: str, left_out: Collection[str] = ()) -> str:
    """Return a digest of a function, and of all functions, classes and values of signing and rules that it uses.

    Comments, docstrings, the layout and the decorators do not count.

    Args:
        left_out: names in the module whose definitions do not count.
    """
    seen: set[_Definition] = set()
    waiting = [(module, name)]
    while waiting:
        place = waiting.pop()
        if place in seen or (place[0] == module and place[1] in left_out):
            continue
        seen.add(place)
        waiting += _definitions_used(*place)
    return xxh3_64_hexdigest("\n".join(ast.unparse(_definitions(of)[used]) for of, used in sorted(seen)).encode())


def _names_in(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _definitions_used(module: str, name: str) -> Iterator[_Definition]:
    """Yield the definitions that a definition uses."""
    for used in _names_in(_definitions(module)[name]):
        if used in _definitions(module):
            yield module, used
        elif (source := _imports(module).get(used)) and source[1] in _definitions(source[0]):
            yield source


@cache
def _definitions(module: str) -> dict[str, ast.AST]:
    """Return functions, classes and values that are defined at the top level of a module, by name."""
    definitions: dict[str, ast.AST] = {}
    for node in _tree(module).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            definitions[node.name] = _bare(node)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            definitions |= {used: node for target in targets for used in _names_in(target)}
    return definitions


@cache
def _imports(module: str) -> dict[str, _Definition]:
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(_tree(module))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(_PACKAGES)
        for alias in node.names
    }


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(import_module(module)))


def _bare(definition: ast.FunctionDef | ast.ClassDef) -> ast.AST:
    """Remove docstrings, and the decorators of a function, from *definition*."""
    if isinstance(definition, ast.FunctionDef):
        definition.decorator_list = []
    for node in ast.walk(definition):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return definition
