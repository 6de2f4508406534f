"""promote: the gate that a model pair passes before it serves with money."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import StateOption, settings_of
from gateway.cli.verbs.evaluate import EveryOption


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    group = typer.Typer(
        name="promote",
        help="Judge a model pair before it serves with money; sign its report; put it on record.",
        no_args_is_help=True,
    )
    for verb in (run, sign, record, show):
        group.command()(verb)
    app.add_typer(group)


def run(  # noqa: PLR0913, PLR0917 - each argument is an option
    data: Annotated[
        Path, typer.Option("--data", help="folder of *.csv or *.csv.gz, as for `evaluate`")
    ],
    first: Annotated[
        datetime,
        typer.Option("--from", formats=["%Y-%m-%d"], help="first bar; after the model's cutoff"),
    ],
    reason: Annotated[str, typer.Option(help="why it is judged; recorded")],
    last: Annotated[
        datetime | None,
        typer.Option("--to", formats=["%Y-%m-%d"], help="last bar that is read"),
    ] = None,
    series: Annotated[list[str], typer.Option(help="a file's name without .csv; repeat it")] = [],  # noqa: B006 - typer copies it
    every: EveryOption = 1,
    actor: Annotated[str, typer.Option("--by", help="who asks; recorded")] = "operator",
    state: StateOption = None,
) -> None:
    """Judge the model pair: card, walk-forward after its cutoff, self-test, made-up markets.

    Stop the gateway first. Takes minutes to hours, by the data; Ctrl-C loses at most one series.
    The report is put on record, passed or refused; exit code 1 where it is refused.

    Example: countersign promote run --data prices --from 2018-01-01 --reason "pair of November"
    """
    from gateway.launch.setup.pairs.promotion import GateAsked, run_gate

    asked = GateAsked(
        data=data,
        first=first.date(),
        last=last.date() if last else None,
        series=tuple(series),
        every=every,
        actor=actor,
        reason=reason,
    )
    raise typer.Exit(run_gate(settings_of(state), asked))


def sign(
    key: Annotated[Path, typer.Option(help="the officer's private key file")],
    state: StateOption = None,
) -> None:
    """Sign the newest passed report of the model pair with one officer's key.

    Example: countersign promote sign --key /media/a/risk.key
    """
    from gateway.launch.setup.pairs.promotion import sign_promotion

    raise typer.Exit(sign_promotion(settings_of(state), key))


def record(state: StateOption = None) -> None:
    """Put a promotion that both officers signed on record. Stop the gateway first.

    Example: countersign promote record
    """
    from gateway.launch.setup.pairs.promotion import record_promotion

    raise typer.Exit(record_promotion(settings_of(state)))


def show(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    state: StateOption = None,
) -> None:
    """Show every run of the gate for this model pair, and whether it is promoted.

    Exit code 1 if it is not promoted.

    Example: countersign promote show
    """
    from gateway.launch.setup.pairs.promotion import show_promotion

    raise typer.Exit(show_promotion(settings_of(state), as_json=as_json))
