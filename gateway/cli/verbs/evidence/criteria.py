"""criteria show, new and sign: by what fairness is tested, and who agreed to it."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.binder import Nouns
from gateway.cli.place import StateOption, place_of, settings_of

group = typer.Typer(
    name="criteria",
    cls=Nouns,
    help="Show and agree on the criteria of fairness: versions, sign-offs, objections.",
    no_args_is_help=True,
)
FileArgument = Annotated[Path, typer.Argument(help="file of criteria (JSON)")]


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    for verb in (show, new, sign):
        group.command()(verb)
    app.add_typer(group)


def show(state: StateOption = None) -> None:
    """Show the criteria on record, newest first, and the product's own.

    Example: countersign criteria show
    """
    from gateway.launch.commands.oversight.criteria import show_criteria

    with place_of(state) as place:
        raise typer.Exit(show_criteria(place))


def new(
    file: FileArgument,
    proposer: Annotated[str, typer.Option(help="who proposes them; cannot agree to them")],
    day: Annotated[str, typer.Option("--from", help="first day that they count for")],
    state: StateOption = None,
) -> None:
    """Write the next version to a file; write there who agreed or objected, and why.

    Example: countersign criteria new next.json --proposer "head of data" --from 2026-12-24
    """
    from gateway.launch.commands.oversight.criteria import next_criteria

    with place_of(state) as place:
        raise typer.Exit(next_criteria(place, file, proposer, day))


def sign(
    file: FileArgument,
    key: Annotated[Path, typer.Option(help="your private key file, from `officer-key`")],
    state: StateOption = None,
) -> None:
    """Add one officer's signature, over the criteria's digest and this ledger.

    Example: countersign criteria sign next.json --key /media/risk/risk.key
    """
    from gateway.launch.commands.oversight.criteria import sign_criteria

    raise typer.Exit(sign_criteria(settings_of(state), file, key))
