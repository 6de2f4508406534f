"""market check and example: the files that `serve` follows."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import settings_of


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    group = typer.Typer(
        name="market",
        help="Files with bars, quotes and events that `serve` follows.",
        no_args_is_help=True,
    )
    for verb in (check, example):
        group.command()(verb)
    app.add_typer(group)


def check(
    file: Annotated[
        Path | None, typer.Argument(help="description (default: COUNTERSIGN_FEEDS__FILES)")
    ] = None,
) -> None:
    """Check the description of followed files, and the first line of each file.

    Every fault is named with line and column; exit code 1. The files' other lines are checked when
    they are read.

    Example: countersign market check feeds.toml
    """
    from gateway.launch.commands.market import check_files

    raise typer.Exit(check_files(settings_of(), file))


def example() -> None:
    """Print a description of one followed file that explains every field, to start your own from.

    Example: countersign market example > feeds.toml
    """
    from gateway.launch.commands.market import example_files

    typer.echo(example_files(), nl=False)
