"""run and serve."""

from pathlib import Path
from typing import Annotated

import typer

from gateway import settings as settings_module
from gateway.runner import run_development, serve_production


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command(
        help="Development profile: make what is missing, play 2018 in paper mode, serve the page."
    )(run)
    app.command(help="Serve with given keys, database and broker; creates nothing.")(serve)


def run(
    decisions: Annotated[
        int | None,
        typer.Option(min=1, help="stop after this many decisions (default: all of 2018)"),
    ] = None,
    exit_: Annotated[
        bool, typer.Option("--exit", help="exit after the summary instead of serving until Ctrl-C")
    ] = False,
    state: Annotated[Path | None, typer.Option(help="state folder (COUNTERSIGN_STATE)")] = None,
) -> None:
    """Play the walk."""
    settings = settings_module.load(state=state)
    playback = settings.playback.model_copy(
        update={
            "decisions": decisions or settings.playback.decisions,
            "exit": exit_ or settings.playback.exit,
        }
    )
    raise typer.Exit(run_development(settings.model_copy(update={"playback": playback})))


def serve() -> None:
    """Serve the gate."""
    raise typer.Exit(serve_production(settings_module.load()))
