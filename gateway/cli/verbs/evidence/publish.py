"""witness and tiles: cosign a log's checkpoints, and publish the tree as static files."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import StateOption, place_of


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command()(witness)
    app.command()(tiles)


def witness(
    state: Annotated[Path, typer.Option(help="the witness's own folder, with its keys and memory")],
    log: Annotated[
        list[str],
        typer.Option(
            help="log to follow: its verifier key, then a space and its origin if that is not the"
            " key's name; or a file of such lines; may be repeated"
        ),
    ],
    listen: Annotated[str, typer.Option(help="address to serve on")] = "127.0.0.1:8710",
    url: Annotated[
        str | None,
        typer.Option(help="address at which the log reaches it (default: where it listens)"),
    ] = None,
    keygen: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="make missing keys with this name, then serve"),
    ] = None,
) -> None:
    """Run a witness: it cosigns the checkpoints of logs, so that a rewritten history is noticed.

    Run it on another host than the log. It follows any C2SP log (tlog-witness) and writes
    STATE/policy, the policy file that names it.

    Example: countersign witness --state w --log ledger.key.pub --keygen example.com/w1

    When a log changes its key, add the new line to the file given with --log before the log's
    `rotate-key --finish`. The witness reads the file again when it changes; a file that does not
    parse changes nothing.
    """
    from gateway.surfaces.witness.server import serve_witness

    raise typer.Exit(serve_witness(state, log, listen, url, keygen))


def tiles(
    folder: Annotated[Path, typer.Argument(help="folder to write; a later call continues it")],
    check: Annotated[
        bool, typer.Option(help="compare every existing file with the log first")
    ] = True,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="write changed files again; the old ones go to DIR/differs"),
    ] = False,
    state: StateOption = None,
) -> None:
    """Publish the log as static files (C2SP tlog-tiles) that any web server can serve.

    A later call writes what is new or missing. If an existing file is not what was signed, it is
    named and nothing is written. --no-check trusts the files of earlier calls, which is enough for
    a call each minute.

    Example: countersign tiles /var/www/log

    Exit codes: 0 written; 1 tampered; 2 nothing is signed yet, another log's folder, or refused.
    """
    if repair and not check:
        raise typer.BadParameter("--repair and --no-check exclude each other: leave one out")
    from gateway.evidence.publication.mirror import published, write_tree

    with place_of(state) as place:
        raise typer.Exit(write_tree(published(place), folder, check=check, repair=repair))
