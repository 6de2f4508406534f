"""erase, hold, release-hold, disclose: personal values in the ledger."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import StateOption, settings_of

OPERATOR = typer.Option("--as", help="whose key: its name in the key folder, of role operator")
HOLD_HELP = "as `countersign hold` printed it; a wrong one lists those in force"
REASON = typer.Option(help="why; recorded, so name nobody")


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command(
        help="Forget a person: a record with actor and legal basis, then the only key to what is"
        " said of him is destroyed. Refused inside retention or a hold; proofs stay valid. Says"
        " which records hold the name in words, from before it was known, and ends in 2 then."
    )(erase)
    app.command(help="Keep personal values from being erased, until somebody else lifts it.")(hold)
    app.command(name="release-hold", help="Lift a hold that somebody else placed.")(release_hold)
    app.command(
        help="Show a record's personal values, and put on record that they were read; with --out"
        " also files that verify.py checks against the record's commitments."
    )(disclose)


def erase(
    subject: Annotated[
        list[str],
        typer.Option(
            help="the person: psn-... or a name; again for each further pseudonym: all or none"
        ),
    ],
    basis: Annotated[str, typer.Option(help="legal basis, e.g. 'GDPR art. 17(1)(b)'; recorded")],
    actor: Annotated[str, OPERATOR] = "operator",
    state: StateOption = None,
) -> None:
    """Erase."""
    from gateway.privacy.commands import erase as carry_out

    raise typer.Exit(carry_out(settings_of(state), actor, subject, basis))


def hold(
    scope: Annotated[str, typer.Option(help="all, subject:PERSON or decision:ID")],
    reason: Annotated[str, REASON],
    actor: Annotated[str, OPERATOR] = "operator",
    state: StateOption = None,
) -> None:
    """Place a hold."""
    from gateway.privacy.commands import hold as carry_out

    raise typer.Exit(carry_out(settings_of(state), actor, scope, reason))


def release_hold(
    hold_id: Annotated[str, typer.Argument(help=HOLD_HELP)],
    reason: Annotated[str, REASON],
    actor: Annotated[
        str, typer.Option("--as", help="whose key, of role approver or operator; not the placer's")
    ] = "approver",
    state: StateOption = None,
) -> None:
    """Lift a hold."""
    from gateway.privacy.commands import release_hold as carry_out

    raise typer.Exit(carry_out(settings_of(state), actor, hold_id, reason))


def disclose(
    seq: Annotated[int, typer.Argument(min=0, help="the record's number")],
    reason: Annotated[str, REASON],
    out: Annotated[Path | None, typer.Option(help="folder for the disclosure files")] = None,
    actor: Annotated[
        str, typer.Option("--as", help="whose key: its name, of role auditor")
    ] = "auditor",
    state: StateOption = None,
) -> None:
    """Disclose."""
    from gateway.privacy.commands import disclose as carry_out

    raise typer.Exit(carry_out(settings_of(state), actor, seq, reason, out))
