"""erase, hold, release-hold, disclose: personal values in the ledger."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import StateOption, settings_of

OPERATOR = typer.Option("--as", help="name of an operator's key in the key folder")
HOLD_HELP = "id that `countersign hold` printed; a wrong one lists the holds in force"
REASON = typer.Option(help="why; recorded, so name nobody")


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    for verb in (erase, hold, release_hold, disclose):
        app.command()(verb)


def erase(
    subject: Annotated[
        list[str],
        typer.Option(
            help="the person: psn-... or a name; repeat for further pseudonyms: all or none"
        ),
    ],
    basis: Annotated[str, typer.Option(help="legal basis, e.g. 'GDPR art. 17(1)(b)'; recorded")],
    actor: Annotated[str, OPERATOR] = "operator",
    state: StateOption = None,
) -> None:
    """Erase a person's data: record actor and legal basis, then destroy the only key to it.

    Refused within the retention period and under a hold. Proofs stay valid.

    Example: countersign erase --subject psn-... --basis "GDPR art. 17(1)(b)"

    Exit code 2 also means that records from before the name was known hold it in plain words; they
    are listed.
    """
    from gateway.privacy.commands import erase as carry_out

    raise typer.Exit(carry_out(settings_of(state), actor, subject, basis))


def hold(
    scope: Annotated[str, typer.Option(help="all, subject:PERSON or decision:ID")],
    reason: Annotated[str, REASON],
    actor: Annotated[str, OPERATOR] = "operator",
    state: StateOption = None,
) -> None:
    """Place a legal hold: nothing in its scope is erased until somebody else lifts it.

    Example: countersign hold --scope decision:ID --reason "complaint 7"
    """
    from gateway.privacy.commands import hold as carry_out

    raise typer.Exit(carry_out(settings_of(state), actor, scope, reason))


def release_hold(
    hold_id: Annotated[str, typer.Argument(help=HOLD_HELP)],
    reason: Annotated[str, REASON],
    actor: Annotated[
        str, typer.Option("--as", help="name of an approver's or operator's key; not the placer's")
    ] = "approver",
    state: StateOption = None,
) -> None:
    """Lift a legal hold that somebody else placed."""
    from gateway.privacy.commands import release_hold as carry_out

    raise typer.Exit(carry_out(settings_of(state), actor, hold_id, reason))


def disclose(
    seq: Annotated[int, typer.Argument(min=0, help="the record's number")],
    reason: Annotated[str, REASON],
    out: Annotated[Path | None, typer.Option(help="folder for the disclosure files")] = None,
    actor: Annotated[
        str, typer.Option("--as", help="name of an auditor's key in the key folder")
    ] = "auditor",
    state: StateOption = None,
) -> None:
    """Show a record's personal values, and record that they were read.

    With --out, also write files that verify.py checks against the record's commitments.

    Example: countersign disclose 5012 --reason "audit 2026-3" --out disclosed
    """
    from gateway.privacy.commands import disclose as carry_out

    raise typer.Exit(carry_out(settings_of(state), actor, seq, reason, out))
