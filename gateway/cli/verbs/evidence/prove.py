"""receipt, prove and verify-receipt: single proofs as small files, and their check."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import StateOption, place_of
from gateway.cli.verbs.evidence.check import DECISION_HELP


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command()(receipt)
    app.command()(prove)
    app.command()(verify_receipt)


def receipt(
    decision: Annotated[str, typer.Argument(help=DECISION_HELP)],
    out: Annotated[
        Path | None, typer.Option(help="file to write (default: <decision>.receipt.tlog-proof)")
    ] = None,
    state: StateOption = None,
) -> None:
    """Write a decision's receipt: its seal, the list of all its records, a cosigned checkpoint.

    With this small file and the log's verifier key, anyone can show offline how the decision was
    recorded, and notices when one of its records is withheld.

    Example: countersign receipt DECISION
    """
    from gateway.evidence.decisions import known
    from gateway.evidence.publication.proof import write_receipt

    with place_of(state) as place:
        raise typer.Exit(write_receipt(place, known(place, decision), out))


def prove(
    seq: Annotated[int | None, typer.Argument(min=0, help="the record's number")] = None,
    from_size: Annotated[
        int | None, typer.Option(min=0, help="size of an earlier checkpoint that you kept")
    ] = None,
    stream: Annotated[str | None, typer.Option(help="a stream, such as decision/ID")] = None,
    first: Annotated[int | None, typer.Option(min=0, help="first place in the stream")] = None,
    last: Annotated[int | None, typer.Option(min=0, help="last place in the stream")] = None,
    out: Annotated[Path | None, typer.Option(help="file to write")] = None,
    state: StateOption = None,
) -> None:
    """Write a proof that a record is in the log, that the log only grew, or of a whole stream.

    countersign prove 17: record 17 is in the log (a C2SP tlog-proof)

    countersign prove --from-size 1200: the log only grew since the checkpoint of size 1200

    countersign prove --stream decision/ID: these are all records of the stream; with --first 3
    --last 9, all from place 3 to place 9
    """
    from gateway.evidence.publication.proof import Question, answer

    question = Question(seq=seq, from_size=from_size, stream=stream, first=first, last=last)
    with place_of(state) as place:
        raise typer.Exit(answer(place, question, out))


def verify_receipt(
    file: Annotated[Path, typer.Argument(help="the answer to POST /v1/intents, as it was saved")],
    state: StateOption = None,
) -> None:
    """Check the receipt in an agent's saved answer: signature, key on record, decision on record.

    Exit codes: 0 it holds, 1 something was altered, 2 this ledger lacks a record that it names, 3
    not checkable.

    Example: countersign verify-receipt answer.json
    """
    from gateway.evidence.publication.receipts import check_file

    with place_of(state) as place:
        code, text = check_file(place.reader, place.reader.head().origin, file)
        typer.echo(text)
        raise typer.Exit(code)
