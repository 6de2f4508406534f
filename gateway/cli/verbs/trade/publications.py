"""publications: what the firm itself publishes, which keeps it out of the instrument."""

from typing import Annotated

import typer

from gateway.cli.place import ComplianceKeyOption, RiskKeyOption, StateOption, settings_of

_KEY = typer.Option("--as", help="name of your key in the key folder")


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    group = typer.Typer(
        name="publications",
        help="Own publications: record them; rule R49 keeps the firm out of their instrument.",
        no_args_is_help=True,
    )
    group.command("list")(listed)
    group.command()(add)
    group.command()(end)
    app.add_typer(group)


def listed(
    actor: Annotated[str, _KEY] = "operator",
    state: StateOption = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """List the own publications on record, newest first.

    Example: countersign publications list
    """
    from gateway.launch.commands.oversight.publications import list_publications

    raise typer.Exit(list_publications(settings_of(state), actor, as_json=as_json))


def add(  # noqa: PLR0913, PLR0917 - one option each
    ref: Annotated[str, typer.Argument(help="your name of it; the same again changes nothing")],
    author: Annotated[str, typer.Option(help="code of the desk or person, not a name")],
    medium: Annotated[
        str, typer.Option(help="research, article, interview, social, broadcast or other")
    ],
    reference: Annotated[str, typer.Option(help="address or number of the document, no spaces")],
    instrument: Annotated[
        str, typer.Option(help="symbol; '*' keeps the firm out of every instrument")
    ],
    published_us: Annotated[
        int | None, typer.Option("--at-us", help="market time, microseconds UTC (default: now)")
    ] = None,
    actor: Annotated[str, _KEY] = "operator",
    state: StateOption = None,
) -> None:
    """Record an own publication. It may lie up to a week ahead.

    Example: countersign publications add note-7 --instrument SPXN --author research-eq
    --medium research --reference https://firm.example/notes/7
    """
    from gateway.launch.commands.oversight.publications import add_publication

    body = {"ref": ref, "instrument": instrument, "published_us": published_us}
    body |= {"author": author, "medium": medium, "reference": reference}
    raise typer.Exit(add_publication(settings_of(state), actor, body))


def end(
    ref: Annotated[str, typer.Argument(help="name of the act, from `publications list`")],
    reason: Annotated[str, typer.Option(help="why it does not count; recorded")],
    risk_key: RiskKeyOption = None,
    compliance_key: ComplianceKeyOption = None,
    actor: Annotated[str, _KEY] = "operator",
    state: StateOption = None,
) -> None:
    """End an own publication that was recorded by mistake; both officers' keys must sign.

    Example: countersign publications end note-7 --reason "named the wrong instrument"
    """
    from gateway.launch.commands.oversight.publications import end_publication

    keys = {"risk": risk_key, "compliance": compliance_key}
    raise typer.Exit(end_publication(settings_of(state), actor, ref, reason, keys))
