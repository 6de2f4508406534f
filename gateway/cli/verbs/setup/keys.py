"""keygen, officer-key, log-key, rotate-key, revoke-key, row-key, disavow and settings."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import ComplianceKeyOption, RiskKeyOption, StateOption, settings_of
from gateway.installation.keys.roles import Role, SigningRole


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    for verb in (keygen, officer_key, log_key, rotate_key, revoke_key, row_key, disavow):
        app.command()(verb)
    app.command(name="settings")(list_settings)


def keygen(
    name: Annotated[
        str,
        typer.Option(help="whose key: a role or a code, never a person's name; it is recorded"),
    ],
    role: Annotated[Role, typer.Option(help="what the key may do")] = Role.AGENT,
    replace: Annotated[
        bool, typer.Option("--replace", help="end the key that has this name, and its role")
    ] = False,
    scope: Annotated[
        Path | None,
        typer.Option(help="TOML file: what an agent's key may ask for; docs/agents.md has one"),
    ] = None,
    state: StateOption = None,
) -> None:
    """Make a bearer key for the API and the pages, and print it once.

    Creates the key folder if it is missing. A scope limits an agent's key to instruments, sides,
    notional for each order and day, a rate and an expiry; without one only the policy limits it.

    Example: countersign keygen --name desk-1 --role agent --scope desk-1.toml
    """
    from gateway.installation.keys.keyring import Keyring
    from gateway.installation.state import StateFolder

    folder = StateFolder.of(settings_of(state)).keys
    typer.echo(Keyring.issue_in(folder, name, role, replace=replace, scope=scope))


def officer_key(
    file: Annotated[Path, typer.Argument(help="new file of the private key, such as A/risk.key")],
    role: Annotated[SigningRole, typer.Option(help="whose key")],
    name: Annotated[
        str, typer.Option(help="a code for the officer, never a person's name; it is recorded")
    ] = "",
    source: Annotated[
        Path | None,
        typer.Option("--from", help="carry this key over, from a file of an earlier version"),
    ] = None,
    state: StateOption = None,
) -> None:
    """Make one officer's key pair: FILE stays with the officer, the .pub file goes to the gateway.

    Each officer runs it on a machine of his own. Refused inside the gateway's folders; an existing
    file is never overwritten.

    Example: countersign officer-key /media/risk/risk.key --role risk
    """
    from gateway.installation.keys.officers import make_officer_key
    from gateway.installation.state import StateFolder

    folders = StateFolder.of(settings_of(state))
    typer.echo(make_officer_key(folders, file, role, name, source), nl=False)


def rotate_key(
    to: Annotated[
        str,
        typer.Option(
            help="where to keep the new key: file, or the PKCS#11 URI of a key in a device"
        ),
    ] = "file",
    finish: Annotated[
        bool, typer.Option("--finish", help="end the overlap: destroy the old private key")
    ] = False,
    state: StateOption = None,
) -> None:
    """Replace the log's signing key, or end the overlap of the last replacement with --finish.

    Until then both keys sign, so that witnesses can learn the new one. Stop the gateway first.

    Example: countersign rotate-key, then countersign rotate-key --finish
    """
    from gateway.installation.keys import rotation as rotating

    settings = settings_of(state)
    raise typer.Exit(
        rotating.finish_rotation(settings) if finish else rotating.rotate_key(settings, to)
    )


def revoke_key(
    key: Annotated[str, typer.Argument(help="verifier key, or a file that holds it")],
    reason: Annotated[str, typer.Option(help="why; recorded")],
    since: Annotated[
        datetime | None,
        typer.Option("--from", help="UTC time from which it no longer counts (default: now)"),
    ] = None,
    state: StateOption = None,
) -> None:
    """Record that an earlier key of the log no longer counts from a given time on.

    The log's present key signs the revocation. Stop the gateway first.

    Example: countersign revoke-key keys/retired-ID.pub --reason "laptop lost"
    """
    from gateway.installation.keys import rotation as rotating

    from_us = None if since is None else int(since.replace(tzinfo=UTC).timestamp()) * 1_000_000
    raise typer.Exit(rotating.revoke_key(settings_of(state), key, from_us, reason))


def log_key(state: StateOption = None) -> None:
    """Make the log's key, which signs checkpoints, and print its public line for outsiders.

    `COUNTERSIGN_LEDGER__ORIGIN` names the log for ever: set it first. An existing key stays.
    """
    from gateway.installation.keys.log_keys import make_log_key
    from gateway.installation.state import StateFolder

    settings = settings_of(state)
    typer.echo(make_log_key(StateFolder.of(settings), settings.ledger))


def row_key(state: StateOption = None) -> None:
    """Make the key of the row MACs, which show that the gateway itself wrote a row.

    Keep it out of the database's reach. `serve` does not start without it. An existing key stays.
    """
    from gateway.installation.keys.row_keys import make_secret
    from gateway.installation.state import StateFolder

    typer.echo(make_secret(StateFolder.of(settings_of(state)).keys))


def disavow(
    seq: Annotated[int, typer.Argument(min=0, help="the record's number")],
    reason: Annotated[str, typer.Option(help="why; recorded")],
    risk_key: RiskKeyOption = None,
    compliance_key: ComplianceKeyOption = None,
    state: StateOption = None,
) -> None:
    """Leave out a record that the gateway did not write, so that the gateway starts again.

    The refused start names the record. Both officers' keys must sign. Stop the gateway first.

    Example: countersign disavow 5012 --reason "row written by an intruder"
    """
    from gateway.installation.keys import disavowal as disavowing

    keys = {"risk": risk_key, "compliance": compliance_key}
    raise typer.Exit(disavowing.disavow(settings_of(state), seq, reason, keys))


def list_settings(
    values: Annotated[
        bool,
        typer.Option("--values", help="what is set: value without secrets, and where it is set"),
    ] = False,
) -> None:
    """List every setting: the environment variable and what it means.

    In countersign.toml COUNTERSIGN_FIX__PORT is `port` in the table [fix]. The environment wins.
    """
    from gateway.installation.settings import known_names, load, resolved

    rows = [f"{name:42} {said}" for name, said in known_names().items()]
    if values:
        rows = [f"{name:42} {value}  ({origin})" for name, value, origin in resolved(load())]
    typer.echo("\n".join(rows))
