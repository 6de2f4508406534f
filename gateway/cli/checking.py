"""verify, dump, show, replay and export: what anyone may ask of the ledger."""

from pathlib import Path
from typing import Annotated

import typer

from gateway import settings as settings_module
from gateway.attach import attached
from gateway.exporting import export_decision
from gateway.replay import replay_decision
from gateway.showing import show_decision
from gateway.verifying import dump_ledger, verify_dump_file, verify_ledger

KEY_HELP = "trusted log key (a vkey line, or a file that holds one), from outside; none: exit 3"

KEPT_HELP = "a checkpoint kept outside, which the log must contain; may be given again"


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    for verb in (verify, dump, show, replay, export):
        app.command(help=verb.__doc__)(verb)


def verify(
    key: Annotated[str | None, typer.Option(help=KEY_HELP)] = None,
    dump_file: Annotated[
        Path | None, typer.Option("--dump", help="check this dump instead of the database")
    ] = None,
    checkpoint: Annotated[list[Path] | None, typer.Option(help=KEPT_HELP)] = None,
    state: Annotated[Path | None, typer.Option(help="state folder")] = None,
) -> None:
    """Check every record against a key given from outside; names the first bad record."""
    if dump_file is not None:
        raise typer.Exit(verify_dump_file(dump_file, key, checkpoint or ()))
    with attached(settings_module.load(state=state)) as place:
        raise typer.Exit(verify_ledger(place, key, checkpoint or ()))


def dump(
    path: Path, state: Annotated[Path | None, typer.Option(help="state folder")] = None
) -> None:
    """Write the whole ledger to one file that `verify --dump` reads."""
    with attached(settings_module.load(state=state)) as place:
        dump_ledger(place, path)


def show(
    decision: str, state: Annotated[Path | None, typer.Option(help="state folder")] = None
) -> None:
    """Print all of a decision as JSON: inputs, text, model internals, verdict, FIX messages."""
    with attached(settings_module.load(state=state)) as place:
        raise typer.Exit(show_decision(place, decision))


def replay(
    decision: str,
    engine: Annotated[
        bool, typer.Option("--engine", help="also sample again and compare bits (half a minute)")
    ] = False,
    state: Annotated[Path | None, typer.Option(help="state folder")] = None,
) -> None:
    """Recompute a decision from the ledger alone, its rows from the weights; names what differs."""
    with attached(settings_module.load(state=state)) as place:
        raise typer.Exit(replay_decision(place, decision, engine=engine))


def export(
    decision: Annotated[str, typer.Option(help="decision id")],
    out: Annotated[
        Path | None, typer.Option(help="file to write (default: <decision>.zip)")
    ] = None,
    state: Annotated[Path | None, typer.Option(help="state folder")] = None,
) -> None:
    """Write a bundle of one decision that proves itself with verify.py and a key from outside."""
    with attached(settings_module.load(state=state)) as place:
        raise typer.Exit(export_decision(place, decision, out or Path(f"{decision}.zip")))
