"""override: lift one limit once, for one order, with both officers' signatures."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.binder import Nouns
from gateway.cli.place import StateOption, settings_of

_FILE = typer.Argument(help="the draft, which goes from officer to officer")
_REASON = typer.Option(help="why; recorded, so name nobody")


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    group = typer.Typer(
        name="override",
        cls=Nouns,
        help="Exceptional overrides: one limit lifted once, signed by both officers, with an end.",
        no_args_is_help=True,
    )
    group.command()(draft)
    group.command()(sign)
    group.command()(grant)
    app.add_typer(group)


def draft(  # noqa: PLR0913, PLR0917 - each argument is an option
    file: Annotated[Path, _FILE],
    account: Annotated[str, typer.Option(help="whose order it is for")],
    instrument: Annotated[str, typer.Option(help="of the order")],
    side: Annotated[str, typer.Option(help="BUY or SELL")],
    rule: Annotated[str, typer.Option(help="whose limit is lifted, such as R06")],
    check: Annotated[str, typer.Option(help="of that rule, as the verdict names it")],
    lots: Annotated[int, typer.Option(help="the largest order, in lots")],
    worth: Annotated[int, typer.Option(help="its largest worth at its limit, in cents")],
    reason: Annotated[str, _REASON],
    minutes: Annotated[int, typer.Option(min=1, max=1440, help="how long it may act")] = 60,
    state: StateOption = None,
) -> None:
    """Draft an override for the policy in force; both officers sign the file, then it is granted.

    Never lifted: kill, stops, restricted list, conduct, AI breaker, a person's yes, the ledger.

    Example: countersign override draft big.json --account desk --instrument SPXN --side BUY
    --rule R06 --check position --lots 900 --worth 25000000 --reason "index rebalancing"
    """
    from gateway.launch.commands.oversight import overrides

    given = {"account": account, "instrument": instrument, "side": side, "rule": rule}
    given |= {"check": check, "reason": reason}
    sizes = {"qty_max_lots": lots, "notional_max_minor": worth}
    raise typer.Exit(overrides.draft(settings_of(state), file, {**given, **sizes}, minutes))


def sign(
    file: Annotated[Path, _FILE],
    key: Annotated[Path, typer.Option(help="the officer's private key file")],
) -> None:
    """Sign a draft with one officer's key, on any machine; it shows what is signed.

    Example: countersign override sign big.json --key /media/a/risk.key
    """
    from gateway.launch.commands.oversight import overrides

    raise typer.Exit(overrides.sign(file, key))


def grant(file: Annotated[Path, _FILE], state: StateOption = None) -> None:
    """Put a draft that both officers signed on record; from then on it can act, once.

    Example: countersign override grant big.json
    """
    from gateway.launch.commands.oversight import overrides

    raise typer.Exit(overrides.grant(settings_of(state), file))
