"""receipt and prove: single proofs as small files, checkable offline by anyone."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import StateOption, place_of
from gateway.cli.verbs.check import DECISION_HELP


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command()(receipt)
    app.command()(prove)


def receipt(
    decision: Annotated[str, typer.Argument(help=DECISION_HELP)],
    out: Annotated[
        Path | None, typer.Option(help="file to write (default: <decision>.receipt.tlog-proof)")
    ] = None,
    state: StateOption = None,
) -> None:
    """Write a decision's receipt: its seal, the list of all its records, a cosigned checkpoint.

    One file of some kilobytes. Whoever has it and the log's key can show, offline and for ever,
    that the decision was recorded so, and notices when a record of it is withheld.
    """
    from gateway.evidence.decisions import known
    from gateway.evidence.proof import write_receipt

    with place_of(state) as place:
        raise typer.Exit(write_receipt(place, known(place, decision), out))


def prove(
    seq: Annotated[int | None, typer.Argument(min=0, help="number of a record")] = None,
    from_size: Annotated[
        int | None, typer.Option(min=0, help="size of an earlier checkpoint: nothing was rewritten")
    ] = None,
    stream: Annotated[
        str | None, typer.Option(help="a stream, such as decision/ID: these are all its records")
    ] = None,
    first: Annotated[int | None, typer.Option(min=0, help="first number in the stream")] = None,
    last: Annotated[int | None, typer.Option(min=0, help="last number in the stream")] = None,
    out: Annotated[Path | None, typer.Option(help="file to write")] = None,
    state: StateOption = None,
) -> None:
    """Write a proof: one record is in the log, the log only grew, or a stream is complete.

    countersign prove 17: record 17 is in the log (a C2SP tlog-proof)

    countersign prove --from-size 1200: the log grew from the checkpoint of 1200 that you kept

    countersign prove --stream decision/ID: these are all its records; --first 3 --last 9: of these
    """
    from gateway.evidence.proof import Question, answer

    question = Question(seq=seq, from_size=from_size, stream=stream, first=first, last=last)
    with place_of(state) as place:
        raise typer.Exit(answer(place, question, out))
