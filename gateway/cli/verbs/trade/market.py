"""market check, example, backfill and events: market data of files."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import StateOption, settings_of

FileArgument = Annotated[
    Path, typer.Argument(help="a .csv, .ndjson or .parquet file", exists=True, dir_okay=False)
]
SourceOption = Annotated[str, typer.Option(help="who numbers the items")]
CheckOption = Annotated[bool, typer.Option("--check", help="look only: take nothing")]


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    group = typer.Typer(
        name="market",
        help="Market data of files: what `serve` follows, and what fills a gap.",
        no_args_is_help=True,
    )
    for verb in (check, example, backfill, events):
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


def backfill(
    file: FileArgument,
    source: SourceOption,
    state: StateOption = None,
    *,
    look: CheckOption = False,
) -> None:
    """Fill the missing daily bars of a source from a file, through the running gateway.

    The whole file is checked first: a bar that contradicts one that stands is refused with its
    line, and nothing is taken. Bars that stand are repeats. No bar is made up: what the file does
    not have stays missing. The record has the file's SHA-256 and what it filled.

    The columns are those of the source in COUNTERSIGN_FEEDS__FILES, else the fields' own names:
    instrument, sequence, time (us), open, high, low, close. Without sequences the bars are counted
    from the file's first line.

    Example: countersign market backfill missed.csv --source vendor
    """
    from gateway.launch.commands.backfill import fill_from

    raise typer.Exit(fill_from(settings_of(state), file, source, "bars", check=look))


def events(
    file: FileArgument,
    source: SourceOption,
    state: StateOption = None,
    *,
    look: CheckOption = False,
) -> None:
    """Deliver dated events or a calendar from a file, through the running gateway.

    Checked and recorded as `market backfill` does. A line of .ndjson may also be a source's word
    that it is complete up to a time.

    Example: countersign market events calendar.ndjson --source central-banks
    """
    from gateway.launch.commands.backfill import fill_from

    raise typer.Exit(fill_from(settings_of(state), file, source, "events", check=look))
