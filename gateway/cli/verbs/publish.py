"""witness and tiles: the ledger's other eyes, and its tree as files for whoever mirrors it."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import StateOption, place_of


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command()(witness)
    app.command()(tiles)


def witness(
    state: Annotated[Path, typer.Option(help="the witness's own folder: keys and memory")],
    log: Annotated[
        list[str],
        typer.Option(
            help="a log to follow: its verifier key, with its origin behind a space if that is "
            "not the key's name, or a file of such lines; may be repeated"
        ),
    ],
    listen: Annotated[str, typer.Option(help="address to serve on")] = "127.0.0.1:8710",
    url: Annotated[
        str | None,
        typer.Option(help="address under which the log reaches it (default: where it listens)"),
    ] = None,
    keygen: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="make missing keys under this name, then serve"),
    ] = None,
) -> None:
    """Cosign the checkpoints of logs: a memory on another host, so that no history is rewritten.

    Follows any C2SP log (tlog-witness). Writes STATE/policy, the policy file that asks for it.
    When a log changes its key, add the new key's line to the file given with --log before the
    log's `rotate-key --finish`: the file is read again when it changes, without a restart. One
    that does not parse then changes nothing.
    """
    from gateway.surfaces.witness.server import serve_witness

    raise typer.Exit(serve_witness(state, log, listen, url, keygen))


def tiles(
    folder: Annotated[Path, typer.Argument(help="folder to write; a second call goes on there")],
    check: Annotated[
        bool, typer.Option(help="hold every file that is there against the log first")
    ] = True,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="write changed files anew; the old ones go to DIR/differs"),
    ] = False,
    state: StateOption = None,
) -> None:
    """Write the tree as static files (tlog-tiles): tiles, entry bundles, then the checkpoint.

    Serve the folder with any web server, and a regulator mirrors the log with curl.

    A second call writes what is new and what is missing. If a file that the folder's checkpoint
    covers is not what was signed, it is named, nothing is written, and the exit code is 1, as that
    of `fsck --tiles DIR`. With --no-check the files of earlier calls are trusted, which is enough
    for a call each minute.

    Exit codes: 0 written; 1 tampered; 2 nothing is signed yet, another log's folder, or refused.
    """
    if repair and not check:
        raise typer.BadParameter("--repair needs the check")
    from gateway.evidence.publication.mirror import published, write_tree

    with place_of(state) as place:
        raise typer.Exit(write_tree(published(place), folder, check=check, repair=repair))
