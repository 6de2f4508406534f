"""run and serve."""

from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.place import StateOption, settings_of

if TYPE_CHECKING:
    from gateway.installation.settings import Settings

NEW_SESSION_HELP = "begin a new FIX session because state/fix is lost or was reset: why; recorded"


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command()(run)
    app.command()(serve)


def run(
    decisions: Annotated[
        int | None,
        typer.Option(min=1, help="stop after this many decisions (default: all of 2018)"),
    ] = None,
    exit_: Annotated[
        bool, typer.Option("--exit", help="exit after the summary instead of serving until Ctrl-C")
    ] = False,
    state: StateOption = None,
    new_fix_session: Annotated[str, typer.Option(help=NEW_SESSION_HELP)] = "",
) -> None:
    """Try Countersign on paper: play 2018 with a simulated broker, then serve the pages.

    Makes the state folder, development keys and an embedded database if they are missing.

    Example: countersign run --decisions 50 --exit
    """
    from gateway.launch.paper.play import run_development

    settings = renewing(settings_of(state), new_fix_session)
    playback = settings.playback.model_copy(
        update={
            "decisions": decisions or settings.playback.decisions,
            "exit": exit_ or settings.playback.exit,
        }
    )
    raise typer.Exit(run_development(settings.model_copy(update={"playback": playback})))


def serve(
    new_fix_session: Annotated[str, typer.Option(help=NEW_SESSION_HELP)] = "",
) -> None:
    """Serve the API and the pages with your own keys, database and broker.

    `countersign init` makes what it needs, and `countersign doctor` says what is missing. Without a
    countersign.toml set COUNTERSIGN_KEYS, COUNTERSIGN_LEDGER__DSN, COUNTERSIGN_FIX__PORT and
    COUNTERSIGN_INSTRUMENTS; `countersign settings` lists every setting.
    """
    from gateway.launch.run import serve_production

    raise typer.Exit(serve_production(renewing(settings_of(), new_fix_session)))


def renewing(settings: "Settings", reason: str) -> "Settings":
    """Return settings with the reason for a new FIX session, if one was given."""
    fix = settings.fix.model_copy(
        update={"new_session": reason.strip() or settings.fix.new_session}
    )
    return settings.model_copy(update={"fix": fix})
