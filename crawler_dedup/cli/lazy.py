"""A group of commands of which each is imported when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from crawler_dedup.cli.terminal import OUT_OF_MEMORY, print_error


class LazyCommand(NamedTuple):
    """A command that is not imported yet.

    Attributes:
        location: ``module:function``, or ``module:app`` for a :class:`typer.Typer` with commands of its own.
        summary: the first paragraph of its help, which the help of the group lists.
    """

    location: str
    summary: str

    def load(self, name: str) -> Any:
        """Import the command."""
        module, _, attribute = self.location.partition(":")
        command = getattr(import_module(module), attribute)
        if isinstance(command, typer.Typer):
            return get_group(command)
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        single.command(name)(command)
        return get_command(single)


class LazyGroup(TyperGroup):
    """List commands without importing them; end with a message when a command runs out of memory.

    Attributes:
        lazy_commands: the commands by name, in the order of the help. A subclass sets them.
    """

    lazy_commands: ClassVar[dict[str, LazyCommand]]

    def __init__(self, **attributes: Any) -> None:
        """See :class:`TyperGroup`."""
        super().__init__(**attributes)
        for name, command in self.lazy_commands.items():
            self.add_command(TyperCommand(name, help=command.summary))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find and import the command with whose name *args* begin."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, name and self.lazy_commands[name].load(name), rest

    def invoke(self, ctx: Any) -> Any:
        """Call the command."""
        try:
            return super().invoke(ctx)
        except MemoryError:
            print_error(OUT_OF_MEMORY)
            raise typer.Exit(2) from None
