"""mode show and mode sign."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import StateOption, settings_of

group = typer.Typer(
    name="mode",
    help="Paper, shadow, pilot and live: which is on record, and what another one needs.",
    no_args_is_help=True,
)


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    group.command()(show)
    group.command()(sign)
    app.add_typer(group)


def show(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    state: StateOption = None,
) -> None:
    """Show the mode on record, and for each mode what it needs and what is missing.

    Example: countersign mode show
    """
    from gateway.launch.commands.modes import show_mode

    raise typer.Exit(show_mode(settings_of(state), as_json=as_json))


def sign(
    to: Annotated[str, typer.Option(help="paper, shadow, pilot or live")],
    key: Annotated[Path, typer.Option(help="the officer's private key file")],
    state: StateOption = None,
) -> None:
    """Sign a change of mode with one officer's key; the next start with that mode uses it.

    Example: countersign mode sign --to shadow --key /media/a/risk.key
    """
    from gateway.launch.commands.modes import sign_mode

    raise typer.Exit(sign_mode(settings_of(state), to, key))
