"""instruments check, show and example: the table of instruments that `serve` trades."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import settings_of

FileArgument = Annotated[
    Path | None, typer.Argument(help="table, .toml or .csv (default: COUNTERSIGN_INSTRUMENTS)")
]


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    group = typer.Typer(
        name="instruments",
        help="Check and show the table of instruments that `serve` trades.",
        no_args_is_help=True,
    )
    for verb in (check, show, example):
        group.command()(verb)
    app.add_typer(group)


def check(file: FileArgument = None) -> None:
    """Check a table of instruments; name every error with line and column, and exit with 1.

    In CSV the first line names the fields, and a column is a field's number. `serve` also compares
    the table with the signed policy and the broker's profile.

    Example: countersign instruments check instruments.toml
    """
    from gateway.launch.commands.instruments import check_table

    raise typer.Exit(check_table(settings_of(), file))


def show(file: FileArgument = None) -> None:
    """Show a table of instruments, one line each; with errors name them and exit with 1.

    Example: countersign instruments show instruments.toml
    """
    from gateway.launch.commands.instruments import show_table

    raise typer.Exit(show_table(settings_of(), file))


def example() -> None:
    """Print a table of one instrument that explains every field, to start your own from.

    Example: countersign instruments example > instruments.toml
    """
    from gateway.launch.commands.instruments import example_table

    typer.echo(example_table(), nl=False)
