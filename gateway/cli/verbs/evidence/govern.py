"""register and assess: what may run, and what the year's records show."""

from typing import Annotated

import typer

from gateway.cli.place import StateOption, place_of, settings_of


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command("register")(register_digests)
    app.command()(assess)


def register_digests(
    reason: Annotated[str, typer.Option(help="what changed and why; recorded")] = "",
    actor: Annotated[str, typer.Option("--by", help="who registers; recorded")] = "operator",
    state: StateOption = None,
    *,
    check: Annotated[
        bool, typer.Option("--check", help="compare what runs with what is registered")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="with --check: print JSON")] = False,
) -> None:
    """Put the digests of code, model, policy, FIX dictionaries and instruments on record.

    Stop the gateway first. With --check nothing is recorded, also while a gateway runs; exit code
    1 if anything differs.

    Example: countersign register --reason "model pair of November"
    """
    from gateway.launch.setup.register import check_registered, record_digests

    settings = settings_of(state)
    if check:
        raise typer.Exit(check_registered(settings, as_json=as_json))
    raise typer.Exit(record_digests(settings, actor, reason))


def assess(
    year: Annotated[int, typer.Option(help="calendar year, UTC")],
    state: StateOption = None,
) -> None:
    """Print the yearly self-assessment of RTS 6 art. 9 as Markdown.

    Each sentence names the records that it rests on, or says "not covered".

    Example: countersign assess --year 2026 > assessment.md
    """
    from gateway.evidence.publication.assessment import assess_year

    with place_of(state) as place:
        typer.echo(assess_year(place.reader, place.settings.ledger.origin, year), nl=False)
