"""annotate: a person's words about a decision, as a record of their own."""

from typing import Annotated

import typer

from gateway.cli.place import StateOption, settings_of


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(annotate)


def annotate(  # noqa: PLR0913 - each argument is an option
    decision_id: Annotated[str, typer.Argument(help="id from `countersign decisions`")],
    text: Annotated[str, typer.Option(help="your words; without, list what is on record")] = "",
    instead: Annotated[
        str, typer.Option(help="dissent: buy, sell or none is what you would have wanted")
    ] = "",
    about: Annotated[
        int | None, typer.Option(help="number of the decision's record that it is about")
    ] = None,
    actor: Annotated[
        str, typer.Option("--as", help="name of your key in the key folder")
    ] = "approver",
    state: StateOption = None,
    *,
    dissent: Annotated[bool, typer.Option("--dissent", help="you disagree")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="list as JSON")] = False,
) -> None:
    """Remark on a decision, or dissent, under your name; nothing on record is changed.

    Example: countersign annotate r1-0007 --text "the print was late" --instead none
    """
    from gateway.launch.commands.oversight import annotations

    settings = settings_of(state)
    if not text:
        raise typer.Exit(
            annotations.list_annotations(settings, actor, decision_id, as_json=as_json)
        )
    sort = "dissent" if dissent or instead else "remark"
    said = {"sort": sort, "text": text, "instead": instead or None, "about_seq": about}
    raise typer.Exit(annotations.annotate(settings, actor, decision_id, said))
