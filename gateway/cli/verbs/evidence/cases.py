"""cases: orders whose records match an indicator of conduct, and what a reviewer makes of them."""

from typing import Annotated

import typer

from gateway.cli.place import StateOption, settings_of

_KEY = typer.Option("--as", help="name of an auditor's key in the key folder")
_CASE = typer.Argument(help="id from `countersign cases list`")
Key = Annotated[str, _KEY]
Case = Annotated[str, _CASE]


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    cases = typer.Typer(
        name="cases",
        help="Orders whose records match an indicator of conduct: list, show, note, close.",
        no_args_is_help=True,
    )
    cases.command("list")(listed)
    cases.command()(show)
    cases.command()(note)
    cases.command()(close)
    app.add_typer(cases)


def listed(
    actor: Key = "auditor",
    state: StateOption = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """List the cases, newest first. The look is on record.

    Example: countersign cases list
    """
    from gateway.launch.commands.oversight.cases import list_cases

    raise typer.Exit(list_cases(settings_of(state), actor, as_json=as_json))


def show(
    case_id: Case,
    actor: Key = "auditor",
    state: StateOption = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Print one case as the draft of a report; it never says what anybody intended.

    Example: countersign cases show 5d1f0c9a7be2443a90b1c6de
    """
    from gateway.launch.commands.oversight.cases import show_case

    raise typer.Exit(show_case(settings_of(state), actor, case_id, as_json=as_json))


def note(
    case_id: Case,
    text: Annotated[str, typer.Option(help="what was found; recorded")],
    actor: Key = "auditor",
    state: StateOption = None,
) -> None:
    """Put a note on a case.

    Example: countersign cases note 5d1f0c9a7be2443a90b1c6de --text "asked the desk"
    """
    from gateway.launch.commands.oversight.cases import note_on_case

    raise typer.Exit(note_on_case(settings_of(state), actor, case_id, text))


def close(
    case_id: Case,
    reason: Annotated[str, typer.Option(help="why; recorded")],
    to: Annotated[
        str, typer.Option(help="closed, reported, 'in review', or open again")
    ] = "closed",
    actor: Key = "auditor",
    state: StateOption = None,
) -> None:
    """Close a case, or move it to another state.

    Example: countersign cases close 5d1f0c9a7be2443a90b1c6de --reason "a hedge, see record 812"
    """
    from gateway.launch.commands.oversight.cases import move_to

    raise typer.Exit(move_to(settings_of(state), actor, case_id, to, reason))
