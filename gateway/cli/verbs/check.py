"""verify, dump, decisions, show, replay and export: what anyone may ask of the ledger."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand
from typing_extensions import override

from gateway.cli.place import StateOption, place_of

if TYPE_CHECKING:
    from audit.verifier.verify import Outside

KEY_HELP = "trusted log key (a vkey line, or a file with some), from outside; none: exit 3"
POLICY_HELP = "C2SP tlog-policy from outside: which witnesses must have cosigned; not met: exit 2"
KEPT_HELP = "a checkpoint kept outside, which the log must contain; may be given again"
DECISION_HELP = "id of a decision; `countersign decisions` lists them"
ROTATION_HELP = "a signed change of the log's keys, if the log does not hold it; may be given again"


class Judge(TyperCommand):
    """A verb whose exit code is a verdict: arguments that cannot be read are not checkable.

    Their usual exit code, 2, would mean that the log is incomplete.
    """

    @override
    def make_context(self, *given: Any, **more: Any) -> Any:
        """Read the arguments."""
        try:
            return super().make_context(*given, **more)
        except Exception as error:  # typer has no public name for an error of usage
            if getattr(error, "exit_code", 0):
                from audit.verifier.verify import NOT_CHECKABLE

                setattr(error, "exit_code", NOT_CHECKABLE)  # noqa: B010 - see above
            raise


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command(help=verify.__doc__, cls=Judge)(verify)
    for verb in (dump, decisions, show, replay, export):
        app.command(help=verb.__doc__)(verb)


def verify(
    key: Annotated[list[str] | None, typer.Option(help=KEY_HELP)] = None,
    policy: Annotated[Path | None, typer.Option(help=POLICY_HELP)] = None,
    checkpoint: Annotated[list[Path] | None, typer.Option(help=KEPT_HELP)] = None,
    rotation: Annotated[list[Path] | None, typer.Option(help=ROTATION_HELP)] = None,
    dump_file: Annotated[
        Path | None, typer.Option("--dump", help="check this dump instead of the database")
    ] = None,
    state: StateOption = None,
) -> None:
    """Check every record against what you bring from outside; names the first bad record.

    Exit codes: 0 all as signed, 1 tampered, 2 incomplete, 3 not checkable; the last line is the
    code's word and the first reason. A key shows who signed; a policy or a kept checkpoint shows
    that not even the log's owner has rewritten it since.
    """
    from gateway.evidence.trust import read_outside
    from gateway.evidence.verification import judged

    def judge() -> int:
        given = read_outside(key or (), policy, checkpoint or (), rotation or ())
        return _verified(given, dump_file, state)

    raise typer.Exit(judged(judge))


def _verified(given: "Outside", dump_file: Path | None, state: Path | None) -> int:
    from audit.verifier.verify import Bad
    from gateway.evidence.verification import verify_dump_file, verify_ledger

    if dump_file is not None:
        if state is not None:
            raise Bad("--state does not apply to a dump: the file alone is judged")
        return verify_dump_file(dump_file, given)
    with place_of(state) as place:
        return verify_ledger(place, given)


def dump(
    path: Annotated[Path, typer.Argument(help="file to write; - is standard output")],
    state: StateOption = None,
) -> None:
    """Write the whole ledger to one file that `verify --dump` reads."""
    from gateway.evidence.verification import dump_ledger

    with place_of(state) as place:
        dump_ledger(place, path)


def decisions(
    limit: Annotated[int, typer.Option(min=1, help="at most so many")] = 20,
    state: StateOption = None,
) -> None:
    """List decisions, newest first: the ids that show, replay, export and receipt take."""
    from gateway.evidence.decisions import list_decisions

    with place_of(state) as place:
        raise typer.Exit(list_decisions(place, limit))


def show(
    decision: Annotated[str, typer.Argument(help=DECISION_HELP)],
    state: StateOption = None,
) -> None:
    """Print all of a decision as JSON: inputs, text, model internals, verdict, FIX messages."""
    from gateway.evidence.decisions import known
    from gateway.evidence.explanation import show_decision

    with place_of(state) as place:
        raise typer.Exit(show_decision(place, known(place, decision)))


def replay(
    decision: Annotated[str, typer.Argument(help=DECISION_HELP)],
    engine: Annotated[
        bool, typer.Option("--engine", help="also sample again and compare bits (half a minute)")
    ] = False,
    state: StateOption = None,
) -> None:
    """Recompute a decision from the ledger alone, its rows from the weights; names what differs."""
    from gateway.evidence.decisions import known
    from gateway.evidence.replay.replay import replay_decision

    with place_of(state) as place:
        raise typer.Exit(replay_decision(place, known(place, decision), engine=engine))


def export(
    decision: Annotated[str | None, typer.Argument(help=DECISION_HELP)] = None,
    named: Annotated[
        str | None, typer.Option("--decision", help="the same, as it was given before")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="file to write (default: <decision>.zip)")
    ] = None,
    state: StateOption = None,
) -> None:
    """Write a bundle of one decision that proves itself with verify.py and a key from outside."""
    if (decision is None) == (named is None):
        raise typer.BadParameter("give the id of one decision")
    from gateway.evidence.bundle import export_decision
    from gateway.evidence.decisions import known

    with place_of(state) as place:
        chosen = known(place, decision or named or "")
        raise typer.Exit(export_decision(place, chosen, out or Path(f"{chosen}.zip")))
