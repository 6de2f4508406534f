"""orders, cancel, replace and basket."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import StateOption, settings_of


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command()(orders)
    app.command()(cancel)
    app.command()(replace)
    app.command()(basket)


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


def replace(
    order: Annotated[str, typer.Argument(help="ClOrdID from `countersign orders`, or decision id")],
    reason: Annotated[str, typer.Option(help="why; recorded")],
    lots: Annotated[
        int | None, typer.Option(help="the new total in lots, with what was executed")
    ] = None,
    limit: Annotated[str | None, typer.Option(help="the new limit price")] = None,
    client_key: Annotated[
        str, typer.Option("--key", help="repeats an earlier request instead of asking anew")
    ] = "",
    state: StateOption = None,
) -> None:
    """Replace one order's quantity or limit; exit code 1 if the replace did not leave.

    A replace that only reduces needs no verdict. Any other is judged by every rule, with the larger
    of both quantities reserved until the broker answers. A kill refuses it.

    Example: countersign replace WI2R53EI7EMMYYHBCQBB --lots 40 --reason "half is enough"
    """
    from gateway.launch.commands.orders import replace_order, replace_request

    request = replace_request(lots, limit, reason, client_key)
    raise typer.Exit(replace_order(settings_of(state), order, request))


def basket(
    file: Annotated[
        Path, typer.Argument(help="JSON: client_key and 2 to 8 legs", exists=True, dir_okay=False)
    ],
    actor: Annotated[
        str, typer.Option("--as", help="name of the agent's key in the key folder")
    ] = "agent",
    state: StateOption = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Submit intents that are judged as a whole; exit code 1 if not every order left.

    The same file again returns the same basket and never a second order.

    Example: countersign basket rebalance.json
    """
    from gateway.launch.commands.orders import submit_file

    raise typer.Exit(submit_file(settings_of(state), file, actor, as_json=as_json))
