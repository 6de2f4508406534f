"""profile check, show, example and sidecar: the broker's profile; certify: the broker tried."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import settings_of

NamedArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE]",
        help="a TOML file or a shipped name (default: COUNTERSIGN_FIX__PROFILE)",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="print what goes on record, as JSON")]


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    group = typer.Typer(
        name="profile",
        help="Check and show the profile of the broker that `serve` trades with.",
        no_args_is_help=True,
    )
    for verb in (check, show, example, sidecar):
        group.command()(verb)
    app.add_typer(group)
    app.command()(certify)


def check(file: NamedArgument = None) -> None:
    """Check a broker's profile; name every error with its key and line, and exit with 1.

    Example: countersign profile check broker.toml
    """
    from gateway.launch.commands.profile import check_profile

    raise typer.Exit(check_profile(settings_of(), file))


def show(file: NamedArgument = None, as_json: JsonOption = False) -> None:
    """Show what a profile says: version, session, capabilities, throttle, fields of an order.

    "not in 4.4" lists the user-defined and extension-pack fields that an order carries.

    Example: countersign profile show plain-4.4
    """
    from gateway.launch.commands.profile import show_profile

    raise typer.Exit(show_profile(settings_of(), file, as_json=as_json))


def example(
    name: Annotated[
        Path | None, typer.Argument(help="a shipped profile (default: plain-4.4)")
    ] = None,
) -> None:
    """Print a shipped profile that explains every key, to start your own from.

    Shipped are simulator, plain-4.2, plain-4.4 and plain-5.0sp2.

    Example: countersign profile example plain-4.4 > broker.toml
    """
    from gateway.launch.commands.profile import example_profile

    typer.echo(example_profile(name), nl=False)


def sidecar(file: NamedArgument = None) -> None:
    """Print the configuration of stunnel for a profile with [tls]; exit with 1 if it has none.

    Example: countersign profile sidecar broker.toml > stunnel.conf
    """
    from gateway.launch.commands.profile import show_sidecar

    raise typer.Exit(show_sidecar(settings_of(), file))


def certify(
    profile: Annotated[Path, typer.Option(help="a TOML file or a shipped name")],
    host: Annotated[str | None, typer.Option(help="of the certification environment")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65_535, help="its port")] = None,
    folder: Annotated[
        Path, typer.Option(help="its own folder: session, sent messages, report")
    ] = Path("certify"),
    patience: Annotated[int, typer.Option(min=1, help="seconds to wait for an answer")] = 15,
    in_live_mode: Annotated[
        bool, typer.Option("--in-live-mode", help="also when COUNTERSIGN_MODE is pilot or live")
    ] = False,
) -> None:
    """Try a broker's certification environment case by case, and write a report.

    Session cases always; order cases at the sizes and prices of the profile's [certify] alone. It
    runs on paper in a folder of its own, apart from the desk's ledger; each message is on disk
    there before it leaves. The report is FOLDER/report.json and report.html. Exit codes: 0 no case
    failed, 1 one failed, 2 it could not begin.

    Example: countersign certify --profile broker.toml --host cert.example.com --port 9879
    """
    from gateway.launch.setup.certify import CertifyWish, certify_broker

    wish = CertifyWish(profile, host, port, folder, patience, in_live_mode=in_live_mode)
    raise typer.Exit(certify_broker(settings_of(), wish))
