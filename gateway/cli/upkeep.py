"""fsck, backup and restore: the whole ledger, checked, carried away and brought back."""

from pathlib import Path
from typing import Annotated

import typer

from gateway import settings as settings_module
from gateway.attach import attached
from gateway.cli.checking import KEPT_HELP, KEY_HELP
from gateway.upkeep import Given, fsck_dump_file, fsck_place, fsck_tiles

POLICY_HELP = "a witness policy (C2SP tlog-policy), whose quorum must have cosigned"
StateFolderOption = Annotated[Path | None, typer.Option(help="state folder")]


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command(help=fsck.__doc__)(fsck)


def fsck(  # noqa: PLR0913, PLR0917 - one flag each
    key: Annotated[str | None, typer.Option(help=KEY_HELP)] = None,
    checkpoint: Annotated[list[Path] | None, typer.Option(help=KEPT_HELP)] = None,
    policy: Annotated[Path | None, typer.Option(help=POLICY_HELP)] = None,
    dump: Annotated[Path | None, typer.Option(help="check this dump, not the database")] = None,
    tiles: Annotated[Path | None, typer.Option(help="check this folder of tiles")] = None,
    resume: Annotated[bool, typer.Option(help="go on where an interrupted check stopped")] = False,
    payloads: Annotated[
        bool, typer.Option(help="also read payloads, stored headers and blobs: slower")
    ] = True,
    state: StateFolderOption = None,
) -> None:
    """Check a log of any size in constant memory: headers rebuilt from columns, streams, tree.

    Exit codes as of verify: 0 ok, 1 tampered, 2 incomplete, 3 not checkable; 130 interrupted.
    """
    given = Given(key=key, checkpoints=checkpoint or (), policy=policy)
    if dump is not None:
        raise typer.Exit(fsck_dump_file(dump, given, resume=resume))
    if tiles is not None:
        raise typer.Exit(fsck_tiles(tiles, given))
    with attached(settings_module.load(state=state)) as place:
        raise typer.Exit(fsck_place(place, given, resume=resume, payloads=payloads))
