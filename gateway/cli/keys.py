"""keygen and settings."""

from pathlib import Path
from typing import Annotated

import typer

from gateway import settings as settings_module
from gateway.attach import key_folder
from gateway.keyring import Keyring, Role


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command(
        help="Make a bearer key for the API, printed once; creates the key folder when missing."
    )(keygen)
    app.command(name="settings", help="List every setting with its meaning.")(list_settings)


def keygen(
    name: Annotated[str, typer.Option(help="who it is for, for example desk-agent")],
    role: Annotated[Role, typer.Option(help="what it may do")] = Role.AGENT,
    state: Annotated[Path | None, typer.Option(help="state folder")] = None,
) -> None:
    """Make a key."""
    folder = key_folder(settings_module.load(state=state))
    typer.echo(Keyring.create(folder).issue(name, role))


def list_settings() -> None:
    """Print the settings."""
    for name, description in settings_module.known_names().items():
        typer.echo(f"{name:42} {description}")
