"""differences and resolve."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import StateOption, settings_of


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command(help=differences.__doc__)(differences)
    app.command(help=resolve.__doc__)(resolve)


def differences(state: StateOption = None) -> None:
    """List where the book and the broker's reports differ; 1 if anything waits for a person."""
    from gateway.launch.commands.differences import list_differences

    raise typer.Exit(list_differences(settings_of(state)))


def resolve(  # noqa: PLR0913, PLR0917 - one option each
    difference: Annotated[int, typer.Argument(help="number that `countersign differences` shows")],
    right: Annotated[str, typer.Option(help="book (nothing changes) or broker (it is adjusted)")],
    reason: Annotated[str, typer.Option(help="why; recorded")],
    evidence: Annotated[str, typer.Option(help="what shows it; recorded")],
    price: Annotated[str, typer.Option(help="of the adjustment, as 269.50")] = "",
    account: Annotated[str, typer.Option(help="where the order is none of ours")] = "",
    side: Annotated[str, typer.Option(help="BUY or SELL, where the order is none of ours")] = "",
    lots: Annotated[
        int | None, typer.Option(help="of the adjustment, broker less book; if not given as listed")
    ] = None,
    ends: Annotated[str, typer.Option(help="ClOrdID of an order that is at an end")] = "",
    risk_key: Annotated[Path | None, typer.Option(help="file of the risk role's key")] = None,
    compliance_key: Annotated[
        Path | None, typer.Option(help="file of the compliance role's key")
    ] = None,
    state: StateOption = None,
) -> None:
    """Say which side of a difference is right; what changes a book needs both officers' keys."""
    from gateway.launch.commands.differences import request_of, resolve_difference

    given = {"right": right, "reason": reason, "evidence": evidence, "price": price}
    more: dict[str, str | int] = {} if lots is None else {"lots": lots}
    more |= {"account": account, "side": side, "ends": ends}
    request = request_of(given | more)
    keys = {"risk": risk_key, "compliance": compliance_key}
    raise typer.Exit(resolve_difference(settings_of(state), difference, request, keys))
