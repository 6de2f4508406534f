"""distill: a drafter from this ledger's own forecasts."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import StateOption, settings_of


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command()(distill)


def distill(
    to: Annotated[Path, typer.Option(help="folder of the new pair; must not be there yet")],
    first: Annotated[
        datetime | None,
        typer.Option("--from", formats=["%Y-%m-%d"], help="first market day that teaches"),
    ] = None,
    last: Annotated[
        datetime | None,
        typer.Option("--to-day", formats=["%Y-%m-%d"], help="last market day that teaches"),
    ] = None,
    state: StateOption = None,
) -> None:
    """Learn the drafter's table again from the forecasts on record; the target stays as it is.

    Takes a second for each forecast. Writes a pair with its lineage only if held-out forecasts show
    that its drafts are accepted more often; exit code 1 otherwise. Judge it with `promote run`.

    Example: countersign distill --to models/november
    """
    from gateway.launch.setup.pairs.distillation import DistillAsked, distill

    asked = DistillAsked(
        folder=to,
        first=first.date() if first else None,
        last=last.date() if last else None,
    )
    raise typer.Exit(distill(settings_of(state), asked))
