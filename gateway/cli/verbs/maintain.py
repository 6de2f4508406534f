"""fsck, backup, restore and migrate: the whole ledger, checked, carried away and brought back."""

import signal
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import StateOption, place_of, settings_of
from gateway.cli.verbs.check import KEPT_HELP, KEY_HELP, ROTATION_HELP, Judge

POLICY_HELP = "a witness policy (C2SP tlog-policy), whose quorum must have cosigned"
LAST_HELP = "the last checkpoint known outside (kept, or from a witness); may be given again"
OLDER_HELP = "restore although a given checkpoint is of a larger log: the rest is lost"


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    for verdict in (fsck, restore):
        app.command(help=verdict.__doc__, cls=Judge)(verdict)
    for verb in (backup, migrate):
        app.command(help=verb.__doc__)(verb)


def fsck(  # noqa: PLR0913, PLR0917 - one flag each
    key: Annotated[list[str] | None, typer.Option(help=KEY_HELP)] = None,
    checkpoint: Annotated[list[Path] | None, typer.Option(help=KEPT_HELP)] = None,
    policy: Annotated[Path | None, typer.Option(help=POLICY_HELP)] = None,
    rotation: Annotated[list[Path] | None, typer.Option(help=ROTATION_HELP)] = None,
    dump: Annotated[Path | None, typer.Option(help="check this dump, not the database")] = None,
    tiles: Annotated[Path | None, typer.Option(help="check this folder of tiles")] = None,
    resume: Annotated[bool, typer.Option(help="go on where an interrupted check stopped")] = False,
    payloads: Annotated[
        bool, typer.Option(help="also read payloads, stored headers and blobs: slower")
    ] = True,
    state: StateOption = None,
) -> None:
    """Check a log of any size in constant memory: headers rebuilt from columns, streams, tree.

    Exit codes and the last line are those of verify: 0 ok, 1 tampered, 2 incomplete, 3 not
    checkable; 130 interrupted.
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
    file: Annotated[Path, typer.Argument(help="file to write; one of that name is replaced")],
    state: StateOption = None,
) -> None:
    """Write the whole ledger to one file that says itself whether it is whole; beside a gateway.

    Subject keys are never in it: a backup must not bring back what was erased. Personal values
    are in it as they are stored, encrypted. Keep the log's signing keys apart from it.
    It ends at the newest signed checkpoint: what is signed by nobody would not be restored.
    A full disk or Ctrl-C leaves no file, and an older one of that name as it was.
    """
    from gateway.evidence.backup import back_up

    with place_of(state) as place:
        back_up(place, file)


def restore(  # noqa: PLR0913, PLR0917 - one flag each
    file: Annotated[Path, typer.Argument(help="what `countersign backup` wrote")],
    key: Annotated[list[str] | None, typer.Option(help=KEY_HELP)] = None,
    checkpoint: Annotated[list[Path] | None, typer.Option(help=LAST_HELP)] = None,
    policy: Annotated[Path | None, typer.Option(help=POLICY_HELP)] = None,
    rotation: Annotated[list[Path] | None, typer.Option(help=ROTATION_HELP)] = None,
    accept_older: Annotated[bool, typer.Option(help=OLDER_HELP)] = False,
    reason: Annotated[str, typer.Option(help="why, for the record")] = "not said",
    state: StateOption = None,
) -> None:
    """Bring a backup back into an empty state folder: verified while it loads, or not at all.

    Cosignatures and encrypted values are held against the log too; with a vault in the new folder
    (COUNTERSIGN_VAULT) values must open to what their records commit to.

    No backup holds keys, vault and FIX session: bring keys/, vault/ and fix/ of the old state
    folder. If fix/ is lost, start once with --new-fix-session REASON: that goes on record.

    Exit codes: 0 restored; 1 tampered or a fork; 2 damaged, cut off, values missing, or older than
    a checkpoint given; 3 no trusted key; 130 interrupted. Only 0 leaves anything behind, but for
    the empty tables in a database of your own (COUNTERSIGN_LEDGER__DSN).
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
    """Hear no signal any more: what is done is said, and the exit code is that of it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def migrate() -> None:
    """Make a database of your own ready, as its administrator; safe to give again.

    Brings COUNTERSIGN_LEDGER__ADMIN_DSN to this program's schema, and makes the user that
    COUNTERSIGN_LEDGER__DSN names: one who may append, read and erase, and nothing else. Only this
    verb needs the administrator; the embedded database is migrated at every start.
    """
    from gateway.installation.database import migrate_given

    raise typer.Exit(migrate_given(settings_of().ledger))
