"""kill, kill-report and release."""

from typing import Annotated

import typer

from gateway.cli.place import ComplianceKeyOption, RiskKeyOption, StateOption, settings_of


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    for verb in (kill, kill_report, release):
        app.command()(verb)


def kill(
    reason: Annotated[str, typer.Option(help="why; recorded")] = "countersign kill",
    state: StateOption = None,
    *,
    drill: Annotated[
        bool, typer.Option("--drill", help="rehearse: time the path, stop and cancel nothing")
    ] = False,
) -> None:
    """Stop all new orders now, also while the gateway or the database is down.

    Live orders are cancelled. `countersign kill-report` shows how far that is; only
    `countersign release` ends the kill.

    With `--drill` nothing stops: the path to the running gateway's FIX process and back is timed
    and put on record; exit code 1 if it did not answer in time.

    Example: countersign kill --reason "price feed is wrong"
    """
    from gateway.launch.commands.kill import press_kill
    from gateway.launch.commands.stops import drill_kill

    if drill:
        raise typer.Exit(drill_kill(settings_of(state), reason))
    raise typer.Exit(press_kill(settings_of(state), reason))


def kill_report(state: StateOption = None) -> None:
    """Show how the newest kill went: what was cancelled, and when."""
    from gateway.launch.commands.kill import report_kill

    raise typer.Exit(report_kill(settings_of(state)))


def release(
    reason: Annotated[str, typer.Option(help="why; recorded")],
    risk_key: RiskKeyOption = None,
    compliance_key: ComplianceKeyOption = None,
    state: StateOption = None,
    *,
    although_live: Annotated[
        bool,
        typer.Option(
            "--although-live",
            help="release although orders may still work at the broker; each is named",
        ),
    ] = False,
) -> None:
    """Release the newest kill; both officers' keys must sign.

    Example: countersign release --reason "feed repaired"
    """
    from gateway.launch.commands.kill import release_kill

    keys = {"risk": risk_key, "compliance": compliance_key}
    raise typer.Exit(release_kill(settings_of(state), reason, keys, although_live=although_live))
