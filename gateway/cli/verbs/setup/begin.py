"""init, doctor and service: a new installation, the look at it, its systemd unit."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import StateOption, settings_of
from gateway.cli.verbs.setup.policy import BarsOption, EquityOption, PriceOption

PublicKeyOption = Annotated[
    Path | None,
    typer.Option(help="public key file of an officer who has a key already: no key is made"),
]


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command()(init)
    app.command(name="doctor")(examine)
    app.command()(service)


def init(  # noqa: PLR0913, PLR0917 - an option for each answer
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="new or empty folder")],
    origin: Annotated[
        str | None, typer.Option(help="name of the log, for ever, such as example.com/desk")
    ] = None,
    broker: Annotated[str | None, typer.Option(help="the broker's FIX address, HOST:PORT")] = None,
    sender: Annotated[str | None, typer.Option(help="your CompID (SenderCompID)")] = None,
    target: Annotated[str | None, typer.Option(help="the broker's CompID (TargetCompID)")] = None,
    database: Annotated[
        str | None, typer.Option(help="PostgreSQL DSN of a plain login, or `embedded` (default)")
    ] = None,
    account: Annotated[str | None, typer.Option(help="the account's name (default: desk)")] = None,
    author: Annotated[
        str | None, typer.Option(help="code of the policy's author (default: quant-desk)")
    ] = None,
    liable: Annotated[
        str | None,
        typer.Option(help="who answers for decisions (default: the domain of --origin)"),
    ] = None,
    instruments: Annotated[
        Path | None, typer.Option(help="table of instruments to copy (default: the example)")
    ] = None,
    risk_public: PublicKeyOption = None,
    compliance_public: PublicKeyOption = None,
    price: PriceOption = None,
    bars: BarsOption = None,
    equity: EquityOption = None,
) -> None:
    """Make a new installation: settings, instruments, a draft policy, and keys by role.

    Asks for what no option says; with --origin, --broker, --sender and --target it needs no
    terminal. Each holder of keys gets a folder of his own beside `gateway`. Nothing is overwritten.
    The draft's limits are scaled by price and equity, as of `policy new`.

    Example: countersign init desk --origin example.com/desk --broker fix.example.com:9878 --sender
    DESK --target BROKER
    """
    from gateway.installation.policies.traded import DraftScale
    from gateway.launch.setup.answers import Wishes, answered, terminal
    from gateway.launch.setup.wizard import make_installation

    wishes = Wishes(
        origin=origin,
        broker=broker,
        sender=sender,
        target=target,
        database=database,
        account=account,
        author=author,
        liable=liable,
        instruments=instruments,
        risk_public=risk_public,
        compliance_public=compliance_public,
        scale=DraftScale(prices=tuple(price or ()), bars=bars, equity=equity),
    )
    raise typer.Exit(make_installation(folder, answered(wishes, terminal())))


def examine(
    as_json: Annotated[bool, typer.Option("--json", help="print the findings as JSON")] = False,
    state: StateOption = None,
) -> None:
    """Look at everything that `serve` needs, and name one mending command for each fault.

    Settings, folder, disk, keys and their modes, instruments, policy, model, database, clock,
    ledger, FIX store, port, broker (TCP only). It writes nothing and starts nothing. Exit codes: 0
    healthy, 1 something must be mended, 2 something could not be looked at.

    Example: countersign doctor --json
    """
    from gateway.launch.setup.doctor import doctor

    raise typer.Exit(doctor(state, as_json=as_json))


def service() -> None:
    """Print a systemd unit that keeps `serve` running with this folder's countersign.toml.

    It names the present user and program, and the folders that the gateway writes. With a database
    of your own on the same machine it starts after it.

    Example: countersign service > countersign.service
    """
    from gateway.launch.setup.service import print_unit

    raise typer.Exit(print_unit(settings_of()))
