"""A group of commands, each of which is imported when it is called."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem


class LazyCommand(NamedTuple):
    """A command that is not imported yet.

    Attributes:
        location: ``module:name`` of a :class:`click.Command`.
        summary: the first paragraph of its help, which the help of the group lists.
    """

    location: str
    summary: str

    def load(self) -> click.Command:
        """Import the command."""
        module, _, attribute = self.location.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command


class LazyGroup(click.Group):
    """A group that lists its commands without importing them.

    Args:
        lazy_commands: the commands by name, in the order of the help.
    """

    def __init__(self, *args: Any, lazy_commands: Mapping[str, LazyCommand], **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.lazy_commands = lazy_commands

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (the signature is click's)
        """Return the names of all commands."""
        return list(self.lazy_commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command; return ``None`` if there is no command of this name."""
        command = self.lazy_commands.get(cmd_name)
        return command and command.load()

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and options whose names begin with *incomplete*, without importing commands."""
        commands = [
            CompletionItem(name, help=command.summary)
            for name, command in self.lazy_commands.items()
            if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the names and summaries of all commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.summary) for name, command in self.lazy_commands.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first of *args* names."""
        name = args[0]
        if name not in self.lazy_commands and not name.startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches  # noqa: PLC0415  (only for an error)

            nearest = get_close_matches(name, self.lazy_commands, 1)
            hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)
