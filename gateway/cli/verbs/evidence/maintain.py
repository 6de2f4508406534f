"""fsck, backup, restore and migrate: the whole ledger, checked, carried away and brought back."""

import signal
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import StateOption, place_of, settings_of
from gateway.cli.verbs.evidence.check import (
    KEPT_HELP,
    KEY_HELP,
    POLICY_HELP,
    ROTATION_HELP,
    VerdictCommand,
)

LAST_HELP = "newest checkpoint known outside (kept, or from a witness); may be repeated"
OLDER_HELP = "restore although a given checkpoint is of a larger log: the rest is lost"


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command(cls=VerdictCommand)(fsck)
    app.command()(backup)
    app.command(cls=VerdictCommand)(restore)
    app.command()(migrate)


def fsck(  # noqa: PLR0913, PLR0917 - one flag each
    key: Annotated[list[str] | None, typer.Option(help=KEY_HELP)] = None,
    checkpoint: Annotated[list[Path] | None, typer.Option(help=KEPT_HELP)] = None,
    policy: Annotated[Path | None, typer.Option(help=POLICY_HELP)] = None,
    rotation: Annotated[list[Path] | None, typer.Option(help=ROTATION_HELP)] = None,
    dump: Annotated[
        Path | None, typer.Option(help="check this dump instead of the database")
    ] = None,
    tiles: Annotated[Path | None, typer.Option(help="check this folder of tiles instead")] = None,
    resume: Annotated[bool, typer.Option(help="continue an interrupted check")] = False,
    payloads: Annotated[
        bool, typer.Option(help="also check payloads, stored headers and blobs: slower")
    ] = True,
    state: StateOption = None,
) -> None:
    """Check a log of any size: every record, stream, checkpoint, and what records say.

    Example: countersign fsck --key ledger.key.pub

    Exit codes, as of verify: 0 intact, 1 tampered, 2 incomplete, 3 not checkable; 130 interrupted.
    """
    from audit.verifier.verify import Bad
    from gateway.evidence.integrity import Given, fsck_dump_file, fsck_place, fsck_tiles
    from gateway.evidence.verification import judged

    given = Given(
        keys=key or (), checkpoints=checkpoint or (), policy=policy, rotations=rotation or ()
    )

    def judge() -> int:
        if (dump, tiles, state).count(None) < 2:  # noqa: PLR2004 - one of the three at most
            raise Bad("--dump, --tiles and --state name three different things to check: give one")
        if tiles is not None and (resume or not payloads):
            raise Bad("--resume and --no-payloads do not apply to tiles")
        if dump is not None and not payloads:
            raise Bad("--no-payloads does not apply to a dump: all of it is read")
        if dump is not None:
            return fsck_dump_file(dump, given, resume=resume)
        if tiles is not None:
            return fsck_tiles(tiles, given)
        with place_of(state) as place:
            return fsck_place(place, given, resume=resume, payloads=payloads)

    raise typer.Exit(judged(judge))


def backup(
    file: Annotated[Path, typer.Argument(help="file to write; an older one is replaced")],
    state: StateOption = None,
) -> None:
    """Write the whole ledger to one file, also while the gateway runs.

    The file ends at the newest signed checkpoint and shows by itself whether it is complete.
    Personal values stay encrypted in it. It holds no subject keys, which would bring erased values
    back, and no signing keys: keep those elsewhere. A full disk or Ctrl-C leaves no new file and
    keeps the older one.

    Example: countersign backup ledger.backup
    """
    from gateway.evidence.backup import back_up

    with place_of(state) as place:
        back_up(place, file)


def restore(  # noqa: PLR0913, PLR0917 - one flag each
    file: Annotated[Path, typer.Argument(help="file that `countersign backup` wrote")],
    key: Annotated[list[str] | None, typer.Option(help=KEY_HELP)] = None,
    checkpoint: Annotated[list[Path] | None, typer.Option(help=LAST_HELP)] = None,
    policy: Annotated[Path | None, typer.Option(help=POLICY_HELP)] = None,
    rotation: Annotated[list[Path] | None, typer.Option(help=ROTATION_HELP)] = None,
    accept_older: Annotated[bool, typer.Option(help=OLDER_HELP)] = False,
    reason: Annotated[str, typer.Option(help="why; recorded")] = "not said",
    state: StateOption = None,
) -> None:
    """Restore a backup into an empty state folder, completely or not at all.

    Everything is verified while it loads. If the new folder has a vault (COUNTERSIGN_VAULT), each
    personal value must match the commitment in its record.

    A backup holds no keys, vault or FIX session: copy keys/, vault/ and fix/ from the old state
    folder. If fix/ is lost, start once with --new-fix-session REASON, which goes on record.

    Example: countersign restore ledger.backup --state restored --key ledger.key.pub

    Exit codes: 0 restored; 1 tampered or a fork; 2 damaged, incomplete or older than a given
    checkpoint; 3 no trusted key; 130 interrupted. Any code but 0 leaves nothing behind, except
    empty tables in a database of your own (COUNTERSIGN_LEDGER__DSN).
    """
    from gateway.evidence.backup import bring_back
    from gateway.evidence.integrity import Given

    given = Given(
        keys=key or (), checkpoints=checkpoint or (), policy=policy, rotations=rotation or ()
    )
    code = bring_back(
        settings_of(state), file, given, accept_older=accept_older, reason=reason, on_done=_deaf
    )
    raise typer.Exit(code)


def _deaf() -> None:
    """Ignore signals from here on: the restore is complete, and the exit code must say so."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def migrate() -> None:
    """Prepare your own PostgreSQL for the gateway: schema and login; safe to repeat.

    Logs in as COUNTERSIGN_LEDGER__ADMIN_DSN, migrates the schema and creates the user that
    COUNTERSIGN_LEDGER__DSN names, who may append, read and erase, and nothing else. No other verb
    needs the administrator. The embedded database is migrated at every start.
    """
    from gateway.installation.database import migrate_given

    settings = settings_of()
    raise typer.Exit(migrate_given(settings.ledger, settings.feeds.dsn))
