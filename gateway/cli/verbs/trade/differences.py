"""differences and resolve."""

from typing import Annotated

import typer

from gateway.cli.place import ComplianceKeyOption, RiskKeyOption, StateOption, settings_of


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command()(differences)
    app.command()(resolve)


def differences(state: StateOption = None) -> None:
    """List where the book and the broker differ; exit code 1 while one waits for a person."""
    from gateway.launch.commands.differences import list_differences

    raise typer.Exit(list_differences(settings_of(state)))


def resolve(  # noqa: PLR0913, PLR0917 - one option each
    difference: Annotated[int, typer.Argument(help="number from `countersign differences`")],
    right: Annotated[
        str, typer.Option(help="book (nothing changes) or broker (book an adjustment)")
    ],
    reason: Annotated[str, typer.Option(help="why; recorded")],
    evidence: Annotated[str, typer.Option(help="what shows it; recorded")],
    price: Annotated[str, typer.Option(help="price of the adjustment, such as 269.50")] = "",
    account: Annotated[str, typer.Option(help="account, if the order is not ours")] = "",
    side: Annotated[str, typer.Option(help="BUY or SELL, if the order is not ours")] = "",
    lots: Annotated[
        int | None, typer.Option(help="lots to adjust, broker less book (default: as listed)")
    ] = None,
    ends: Annotated[str, typer.Option(help="ClOrdID of an order that has ended")] = "",
    exec_id: Annotated[
        list[str] | None,
        typer.Option(help="the broker's ExecID of a trade that this books; may be repeated"),
    ] = None,
    risk_key: RiskKeyOption = None,
    compliance_key: ComplianceKeyOption = None,
    state: StateOption = None,
) -> None:
    """Resolve a difference between the book and the broker, so that orders can flow again.

    `--right broker` and `--ends` change the book, and units that are no whole lots stay unbooked:
    both officers' keys must sign. With --exec-id, `verify --broker-fills` finds the trade in the
    broker's own file.

    Example: countersign resolve 412 --right broker --price 269.50 --exec-id X17 --reason "trade
    was missed" --evidence "statement 7"
    """
    from gateway.launch.commands.differences import request_of, resolve_difference

    given = {"right": right, "reason": reason, "evidence": evidence, "price": price}
    more: dict[str, str | int | list[str]] = {} if lots is None else {"lots": lots}
    more |= {"account": account, "side": side, "ends": ends, "exec_ids": exec_id or []}
    request = request_of(given | more)
    keys = {"risk": risk_key, "compliance": compliance_key}
    raise typer.Exit(resolve_difference(settings_of(state), difference, request, keys))
