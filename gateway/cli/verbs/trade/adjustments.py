"""book open: an account's positions and cash before its first trade."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.binder import Nouns
from gateway.cli.place import ComplianceKeyOption, RiskKeyOption, StateOption, settings_of

ReasonOption = Annotated[str, typer.Option(help="why; recorded")]
AccountOption = Annotated[str, typer.Option(help="account; not for a split, which is of all")]
group = typer.Typer(
    name="book",
    cls=Nouns,
    help="Open an account's book with its positions and cash.",
    no_args_is_help=True,
)


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.add_typer(group)


@group.callback()
def book() -> None:
    """Open an account's book with its positions and cash."""


@group.command("open")
def open_book(
    file: Annotated[Path, typer.Argument(help="CSV: instrument,quantity,price and a CASH line")],
    account: Annotated[str, typer.Option(help="account to open")],
    day: Annotated[str, typer.Option(help="day that begins with it, such as 2026-11-20")],
    reason: ReasonOption = "start of day",
    risk_key: RiskKeyOption = None,
    compliance_key: ComplianceKeyOption = None,
    state: StateOption = None,
) -> None:
    """Record positions and cash before the first trade; both officers' keys must sign.

    The price is the average paid. Later, the same command says where book and file differ.

    Example: countersign book open positions.csv --account desk --day 2026-11-20
    """
    from gateway.launch.commands.adjustments import adjust_book, opening_from

    request = opening_from(file, account, day, reason)
    keys = {"risk": risk_key, "compliance": compliance_key}
    raise typer.Exit(adjust_book(settings_of(state), request, keys))
