"""keygen, rotate-key, revoke-key, row-key, disavow and settings."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import StateOption, settings_of
from gateway.installation.keys.roles import Role


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command(
        help="Make a bearer key for the API, printed once; creates the key folder when missing."
    )(keygen)
    app.command(
        name="rotate-key",
        help="Hand the log over to a new signing key, or end the overlap of the last rotation; "
        "the gateway must be stopped.",
    )(rotate_key)
    app.command(
        name="revoke-key",
        help="Record that an earlier key of the log no longer counts from a time on, signed by the "
        "present key; the gateway must be stopped.",
    )(revoke_key)
    app.command(
        name="row-key",
        help="Make the key of the MACs that stand beside the ledger's rows, out of the database's "
        "reach; `serve` does not start without one. An existing key stays.",
    )(row_key)
    app.command(
        help="Leave out a record that the gateway did not write, and for which it does not start; "
        "needs the risk key and the compliance key; the gateway must be stopped.",
    )(disavow)
    app.command(name="settings", help="List every setting with its meaning.")(list_settings)


def keygen(
    name: Annotated[
        str,
        typer.Option(help="whose it is: a role or a code that goes on record, not a person's name"),
    ],
    role: Annotated[Role, typer.Option(help="what it may do")] = Role.AGENT,
    replace: Annotated[
        bool, typer.Option("--replace", help="end the key that has this name, and its role")
    ] = False,
    state: StateOption = None,
) -> None:
    """Make a key."""
    from gateway.installation.keys.keyring import Keyring
    from gateway.installation.place import key_folder

    folder = key_folder(settings_of(state))
    typer.echo(Keyring.issue_in(folder, name, role, replace=replace))


def rotate_key(
    to: Annotated[
        str,
        typer.Option(help="where the new key is: file, or the PKCS#11 URI of a key in a device"),
    ] = "file",
    finish: Annotated[
        bool, typer.Option("--finish", help="end the overlap: destroy the old private key")
    ] = False,
    state: StateOption = None,
) -> None:
    """Rotate the log's key."""
    from gateway.installation.keys import rotation as rotating

    settings = settings_of(state)
    raise typer.Exit(
        rotating.finish_rotation(settings) if finish else rotating.rotate_key(settings, to)
    )


def revoke_key(
    key: Annotated[str, typer.Argument(help="the key's public line, or a file that holds it")],
    reason: Annotated[str, typer.Option(help="why; recorded")],
    since: Annotated[
        datetime | None,
        typer.Option("--from", help="UTC time from which it no longer counts (default: now)"),
    ] = None,
    state: StateOption = None,
) -> None:
    """Revoke a key of the log."""
    from gateway.installation.keys import rotation as rotating

    from_us = None if since is None else int(since.replace(tzinfo=UTC).timestamp()) * 1_000_000
    raise typer.Exit(rotating.revoke_key(settings_of(state), key, from_us, reason))


def row_key(state: StateOption = None) -> None:
    """Make the key of the rows."""
    from gateway.installation.keys.row_keys import make_secret
    from gateway.installation.place import key_folder

    typer.echo(make_secret(key_folder(settings_of(state))))


def disavow(
    seq: Annotated[int, typer.Argument(min=0, help="the record's number")],
    reason: Annotated[str, typer.Option(help="why; recorded")],
    risk_key: Annotated[
        Path | None, typer.Option(help="file of the risk role's key (default: the key folder's)")
    ] = None,
    compliance_key: Annotated[
        Path | None, typer.Option(help="file of the compliance role's key")
    ] = None,
    state: StateOption = None,
) -> None:
    """Disavow a record."""
    from gateway.installation.keys import disavowal as disavowing

    keys = {"risk": risk_key, "compliance": compliance_key}
    raise typer.Exit(disavowing.disavow(settings_of(state), seq, reason, keys))


def list_settings() -> None:
    """Print the settings."""
    from gateway.installation.settings import known_names

    for name, description in known_names().items():
        typer.echo(f"{name:42} {description}")
