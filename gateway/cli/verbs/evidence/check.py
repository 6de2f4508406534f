"""verify, dump, decisions, show, would-pass, replay, export: what anyone may ask the ledger."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typing_extensions import override

from gateway.cli.place import StateOption, place_of

KEY_HELP = "trusted verifier key of the log, or a file of such lines; without one: exit code 3"
POLICY_HELP = "witness policy (C2SP tlog-policy) whose quorum must have cosigned"
KEPT_HELP = "checkpoint that you kept; the log must contain it; may be repeated"
DECISION_HELP = "decision id, from `countersign decisions`"
OFFICER_HELP = "an officer's .pub file; give both, to check what two officers signed"
FILLS_HELP = "the broker's own file of fills, CSV or a FIX log; may be repeated"
FIRST_HELP = "first day of that file, YYYYMMDD (default: of its first line)"
LAST_HELP = "last day of that file, YYYYMMDD (default: of its last line)"
ACCOUNT_HELP = "only fills of this account must be in that file; may be repeated"
ROTATION_HELP = "signed change of the log's key that the log does not hold; may be repeated"


class VerdictCommand(TyperCommand):
    """A verb whose exit code is a verdict: unreadable arguments are NOT CHECKABLE.

    The usual exit code for them, 2, would mean that the log is incomplete.
    """

    @override
    def make_context(self, *given: Any, **more: Any) -> Any:
        try:
            return super().make_context(*given, **more)
        except Exception as error:  # typer has no public name for a usage error
            if getattr(error, "exit_code", 0):
                from audit.verifier.verify import NOT_CHECKABLE

                setattr(error, "exit_code", NOT_CHECKABLE)  # noqa: B010 - see above
            raise


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command(cls=VerdictCommand)(verify)
    for verb in (dump, decisions, statement, show, would_pass, replay, export):
        app.command()(verb)


def verify(  # noqa: PLR0913, PLR0917 - one option each
    key: Annotated[list[str] | None, typer.Option(help=KEY_HELP)] = None,
    policy: Annotated[Path | None, typer.Option(help=POLICY_HELP)] = None,
    checkpoint: Annotated[list[Path] | None, typer.Option(help=KEPT_HELP)] = None,
    rotation: Annotated[list[Path] | None, typer.Option(help=ROTATION_HELP)] = None,
    dump_file: Annotated[
        Path | None, typer.Option("--dump", help="check this dump instead of the database")
    ] = None,
    broker_fills: Annotated[list[Path] | None, typer.Option(help=FILLS_HELP)] = None,
    broker_from: Annotated[str, typer.Option(help=FIRST_HELP)] = "",
    broker_to: Annotated[str, typer.Option(help=LAST_HELP)] = "",
    broker_account: Annotated[list[str] | None, typer.Option(help=ACCOUNT_HELP)] = None,
    officer: Annotated[list[Path] | None, typer.Option(help=OFFICER_HELP)] = None,
    state: StateOption = None,
) -> None:
    """Check every record against a key that you trust, and name the first bad record.

    The key shows who signed. A witness policy or a checkpoint that you kept also shows that the
    log's owner has not rewritten it since. The broker's own file of fills shows the same against
    the broker: each fill must name its approving record, and no fill may be missing.
    With both officers' keys it also checks who signed a trade by phone, a split or a dividend.

    Example: countersign verify --key ledger.key.pub --checkpoint kept.note

    Example: countersign verify --key ledger.key.pub --broker-fills fills-20261120.csv

    Exit codes: 0 intact, 1 tampered, 2 incomplete, 3 not checkable. The last line names the verdict
    and its first reason.
    """
    from audit.verifier.verify import Bad, read_fills
    from gateway.evidence.trust import read_outside
    from gateway.evidence.verification import judged, verify_dump_file, verify_ledger

    def judge() -> int:
        fills = read_fills(broker_fills or (), broker_from, broker_to, broker_account or ())
        notes, changes, both = checkpoint or (), rotation or (), officer or ()
        given = read_outside(key or (), policy, notes, changes, fills, both)
        if dump_file is None:
            with place_of(state) as place:
                return verify_ledger(place, given)
        if state is not None:
            raise Bad("--state does not apply to a dump: the file alone is judged")
        return verify_dump_file(dump_file, given)

    raise typer.Exit(judged(judge))


def dump(
    path: Annotated[Path, typer.Argument(help="file to write; - is standard output")],
    state: StateOption = None,
) -> None:
    """Write the whole ledger to one file, to check elsewhere with `verify --dump`.

    Example: countersign dump ledger.dump
    """
    from gateway.evidence.verification import dump_ledger

    with place_of(state) as place:
        dump_ledger(place, path)


def decisions(
    limit: Annotated[int, typer.Option(min=1, help="how many at most")] = 20,
    state: StateOption = None,
) -> None:
    """List the newest decisions, with the ids that show, replay, export and receipt take."""
    from gateway.evidence.decisions import list_decisions

    with place_of(state) as place:
        raise typer.Exit(list_decisions(place, limit))


def statement(
    day: Annotated[str, typer.Option(help="day, such as 2026-11-20")],
    account: Annotated[str, typer.Option(help="account (default: each)")] = "",
    csv: Annotated[bool, typer.Option("--csv", help="as CSV")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="as JSON, one line for each account")
    ] = False,
    state: StateOption = None,
) -> None:
    """Print an account's day: positions, cash, fees, profit, trades and adjustments.

    It is folded from the records up to the end of that day. A day begins with the market's opening,
    or at midnight UTC where no opening is on record.

    Example: countersign statement --day 2026-11-20 --account desk --csv > desk.csv
    """
    from gateway.evidence.statement import print_statement

    form = "csv" if csv else "json" if json else "text"
    with place_of(state) as place:
        raise typer.Exit(print_statement(place, account, day, form))


def show(
    decision: Annotated[str, typer.Argument(help=DECISION_HELP)],
    state: StateOption = None,
) -> None:
    """Print everything about one decision as JSON: inputs, model internals, verdict, FIX messages.

    Example: countersign show DECISION | jq .
    """
    from gateway.evidence.decisions import known
    from gateway.evidence.explanation import show_decision

    with place_of(state) as place:
        raise typer.Exit(show_decision(place, known(place, decision)))


def would_pass(
    decision: Annotated[str, typer.Argument(help=DECISION_HELP)],
    state: StateOption = None,
) -> None:
    """Print the largest quantity, and the limits, that would have passed instead of an intent.

    The decision is replayed; each verdict of it gives one line of JSON, with the waiting orders
    that used up the room.

    Example: countersign would-pass DECISION
    """
    from gateway.evidence.answers.would_pass import print_would_pass
    from gateway.evidence.decisions import known

    with place_of(state) as place:
        raise typer.Exit(print_would_pass(place, known(place, decision)))


def replay(
    decision: Annotated[str | None, typer.Argument(help=DECISION_HELP)] = None,
    every: Annotated[bool, typer.Option("--all", help="every decision of the ledger")] = False,
    engine: Annotated[
        bool, typer.Option("--engine", help="also sample again and compare bits (half a minute)")
    ] = False,
    state: StateOption = None,
) -> None:
    """Recompute one decision, or all, from records and the model's weights; name what differs.

    Examples: countersign replay DECISION --engine; countersign replay --all

    Exit codes: 0 every step recomputes, 1 a step differs or its pair is not at hand.
    """
    if (decision is None) != every:
        raise typer.BadParameter("name one decision, or --all; `countersign decisions` lists ids")
    from gateway.evidence.decisions import known
    from gateway.evidence.replay.replay import replay_decision
    from gateway.evidence.replay.whole import replay_all

    with place_of(state) as place:
        if decision is None:
            raise typer.Exit(replay_all(place, engine=engine))
        raise typer.Exit(replay_decision(place, known(place, decision), engine=engine))


def export(
    decision: Annotated[str | None, typer.Argument(help=DECISION_HELP)] = None,
    named: Annotated[
        str | None, typer.Option("--decision", help="the same id, in the older form")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="file to write (default: <decision>.zip)")
    ] = None,
    state: StateOption = None,
) -> None:
    """Write one decision as a bundle that anyone can check offline with verify.py.

    The recipient needs the log's verifier key from a source other than the bundle.

    Example: countersign export DECISION --out decision.zip
    """
    if (decision is None) == (named is None):
        raise typer.BadParameter("name one decision; `countersign decisions` lists the ids")
    from gateway.evidence.bundle import export_decision
    from gateway.evidence.decisions import known

    with place_of(state) as place:
        chosen = known(place, decision or named or "")
        raise typer.Exit(export_decision(place, chosen, out or Path(f"{chosen}.zip")))
