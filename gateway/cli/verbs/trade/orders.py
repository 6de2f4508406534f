"""orders and cancel."""

from typing import Annotated

import typer

from gateway.cli.place import StateOption, settings_of


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command()(orders)
    app.command()(cancel)


def orders(
    state: StateOption = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="also orders that are over")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """List the orders that may still trade at the broker, newest first.

    Example: countersign orders --all --json
    """
    from gateway.launch.commands.orders import list_orders

    raise typer.Exit(list_orders(settings_of(state), all_of_them=every, as_json=as_json))


def cancel(
    order: Annotated[str, typer.Argument(help="ClOrdID from `countersign orders`, or decision id")],
    reason: Annotated[str, typer.Option(help="why; recorded")],
    client_key: Annotated[
        str, typer.Option("--key", help="repeats an earlier request instead of asking anew")
    ] = "",
    state: StateOption = None,
) -> None:
    """Cancel one order, also while a kill is in force; exit code 1 if the cancel did not leave.

    The request is on record before the cancel leaves. `countersign orders` shows what the broker
    made of it.

    Example: countersign cancel WI2R53EI7EMMYYHBCQBB --reason "limit is stale"
    """
    from gateway.launch.commands.orders import cancel_order

    raise typer.Exit(cancel_order(settings_of(state), order, reason, client_key))
