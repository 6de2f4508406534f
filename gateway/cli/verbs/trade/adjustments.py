"""book and adjust: what changes a book beside its orders."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import ComplianceKeyOption, RiskKeyOption, StateOption, settings_of

ReasonOption = Annotated[str, typer.Option(help="why; recorded")]
AccountOption = Annotated[str, typer.Option(help="account; not for a split, which is of all")]
group = typer.Typer(
    name="book",
    help="Open an account's book with its positions and cash.",
    no_args_is_help=True,
)


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.add_typer(group)
    app.command()(adjust)


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


def adjust(  # noqa: PLR0913, PLR0917 - one option each
    sort: Annotated[str, typer.Argument(help="split, dividend, fee, cash, trade, give_up or mark")],
    ref: Annotated[str, typer.Option(help="your name of it; the same again changes nothing")],
    reason: ReasonOption,
    evidence: Annotated[str, typer.Option(help="what shows it; recorded")],
    account: AccountOption = "",
    instrument: Annotated[str, typer.Option(help="symbol")] = "",
    amount: Annotated[
        str, typer.Option(help="of a dividend, fee or transfer; -5.00 goes out")
    ] = "",
    side: Annotated[str, typer.Option(help="BUY or SELL, of a trade or give-up")] = "",
    quantity: Annotated[int, typer.Option(help="of a trade or give-up, in units")] = 0,
    price: Annotated[
        str, typer.Option(help="of a trade or give-up; what wrong marks should have been")
    ] = "",
    fee: Annotated[str, typer.Option(help="of a trade or give-up")] = "",
    ratio: Annotated[str, typer.Option(help="of a split: 2:1 makes two of each one")] = "",
    effective: Annotated[
        str, typer.Option(help="a split's first day: bars from before it are restated")
    ] = "",
    marks: Annotated[str, typer.Option(help="first-last record of wrong marks: 1041-1099")] = "",
    reference: Annotated[str, typer.Option(help="the broker's ExecID or ticket")] = "",
    risk_key: RiskKeyOption = None,
    compliance_key: ComplianceKeyOption = None,
    state: StateOption = None,
) -> None:
    """Adjust a book beside its orders; both officers' keys must sign.

    It is refused where it would not apply, such as a split of what nobody holds.

    Example: countersign adjust split --ref SPXN-2026 --instrument SPXN --ratio 2:1
    --reason "split of 20 November" --evidence "notice 7"

    Example: countersign adjust trade --ref phone-9 --account desk --instrument SPXN --side BUY
    --quantity 100 --price 268.50 --reference X77 --reason "by phone" --evidence "tape 12"

    Example: countersign adjust mark --ref bad-tick-3 --account desk --instrument SPXN
    --marks 1041-1099 --price 268.36 --reason "a decimal point" --evidence "exchange notice"
    """
    from gateway.launch.commands.adjustments import adjust_book, adjustment_from

    more = {"account": account, "instrument": instrument, "amount": amount, "side": side}
    more |= {"effective": effective, "marks": marks}
    more |= {"price": price, "fee": fee, "ratio": ratio, "reference": reference}
    given = {"ref": ref, "sort": sort, "reason": reason, "evidence": evidence}
    request = adjustment_from({**given, **more, "quantity": quantity})
    keys = {"risk": risk_key, "compliance": compliance_key}
    raise typer.Exit(adjust_book(settings_of(state), request, keys))
