"""kill and release."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import StateOption, settings_of


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command(help="Stop all new orders now; works with the gateway or the database down.")(kill)
    app.command("kill-report", help="Say how the newest kill went: what was cancelled, and when.")(
        kill_report
    )
    app.command(help="Release a kill; needs the risk key and the compliance key.")(release)


def kill(
    reason: Annotated[str, typer.Option(help="why; recorded")] = "countersign kill",
    state: StateOption = None,
) -> None:
    """Press the kill."""
    from gateway.launch.commands.kill import press_kill

    raise typer.Exit(press_kill(settings_of(state), reason))


def kill_report(state: StateOption = None) -> None:
    """Say how the newest kill went."""
    from gateway.launch.commands.kill import report_kill

    raise typer.Exit(report_kill(settings_of(state)))


def release(
    reason: Annotated[str, typer.Option(help="why; recorded")],
    risk_key: Annotated[
        Path | None, typer.Option(help="file of the risk role's key (default: the key folder's)")
    ] = None,
    compliance_key: Annotated[
        Path | None, typer.Option(help="file of the compliance role's key")
    ] = None,
    state: StateOption = None,
    *,
    although_live: Annotated[
        bool,
        typer.Option(
            "--although-live", help="also where orders may still work at the broker; each is named"
        ),
    ] = False,
) -> None:
    """Release the kill."""
    from gateway.launch.commands.kill import release_kill

    keys = {"risk": risk_key, "compliance": compliance_key}
    raise typer.Exit(release_kill(settings_of(state), reason, keys, although_live=although_live))
