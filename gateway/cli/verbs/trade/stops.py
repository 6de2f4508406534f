"""pause, reduce-only, secure, flatten and resume."""

from typing import Annotated

import typer

from gateway.cli.place import ComplianceKeyOption, RiskKeyOption, StateOption, settings_of

ReasonOption = Annotated[str, typer.Option(help="why; recorded")]


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    for verb in (pause, reduce_only, secure, flatten, resume):
        app.command()(verb)


def pause(reason: ReasonOption, state: StateOption = None) -> None:
    """Take no new order until `countersign resume`; live orders stay at the broker.

    Decisions go on record as refused (ENTRIES_PAUSED). A restart forgets no stop.

    Example: countersign pause --reason "waiting for the central bank"
    """
    from gateway.launch.commands.stops import begin
    from risk.state.state import Stop

    raise typer.Exit(begin(settings_of(state), Stop.PAUSE, reason))


def reduce_only(reason: ReasonOption, state: StateOption = None) -> None:
    """Take only orders that reduce a position until `countersign resume`; live orders stay.

    Example: countersign reduce-only --reason "close by Friday"
    """
    from gateway.launch.commands.stops import begin
    from risk.state.state import Stop

    raise typer.Exit(begin(settings_of(state), Stop.REDUCE_ONLY, reason))


def secure(reason: ReasonOption, state: StateOption = None) -> None:
    """Sample every forecast from the target alone until both officers end it; orders go on.

    Nothing is drafted: what the target says has the same law, and takes longer.

    Example: countersign secure --reason "odd drafts since noon"
    """
    from gateway.launch.commands.stops import begin
    from risk.state.state import Stop

    raise typer.Exit(begin(settings_of(state), Stop.SECURE, reason))


def flatten(
    reason: ReasonOption,
    instrument: Annotated[str, typer.Option(help="close this one only (default: all)")] = "",
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only say what it would do")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask for confirmation")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    state: StateOption = None,
) -> None:
    """Close positions: reduce-only comes into force, then each order is judged by the rules.

    What cannot be judged (a working order, no market) is named and left: `cancel-all` first, then
    again. Exit code 1 if a position is left without an order. `resume` ends reduce-only.

    Example: countersign flatten --reason "risk off" --dry-run
    """
    from gateway.launch.commands.stops import flatten as close

    ask = None if yes else lambda text: bool(typer.confirm(text))
    raise typer.Exit(
        close(settings_of(state), (reason, instrument), ask, dry_run=dry_run, as_json=as_json)
    )


def resume(
    reason: ReasonOption,
    stop: Annotated[
        str, typer.Option(help="pause, reduce-only, breaker or secure (default: every stop)")
    ] = "",
    risk_key: RiskKeyOption = None,
    compliance_key: ComplianceKeyOption = None,
    state: StateOption = None,
) -> None:
    """End the stops in force. Another person's needs one officer's key, breaker and secure both.

    Example: countersign resume --reason "the decision is out"
    """
    from gateway.launch.commands.stops import resume as end

    keys = {"risk": risk_key, "compliance": compliance_key}
    raise typer.Exit(end(settings_of(state), stop, reason, keys))
