"""register, assess, fairness, swaps, flow, scores, engine-adds: what may run, what days show."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import StateOption, place_of, settings_of


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command("register")(register_digests)
    app.command()(assess)
    app.command()(fairness)
    app.command()(swaps)
    app.command()(flow)
    app.command()(scores)
    app.command("engine-adds")(engine_adds)


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


def fairness(
    first: Annotated[str, typer.Option("--from", help="first day, such as 2026-11-01")] = "",
    last: Annotated[str, typer.Option("--to", help="last day (default: the first)")] = "",
    check: Annotated[
        int | None, typer.Option("--check", help="run the tests of this record again; compare")
    ] = None,
    state: StateOption = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="print the run as JSON")] = False,
) -> None:
    """Test whether the model and the gate treat groups alike, and put the run on record.

    It compares regions, sectors, sides, agents and clients over the days, from the records alone.
    Every test is reported, also one that found nothing or does not apply. The permutation tests
    are seeded from the log's root, so whoever has the log computes the same: --check does.

    Example: countersign fairness --from 2026-11-01 --to 2026-11-20

    Exit codes: 0; with --check 1 if the recorded run does not follow from the records.
    """
    from gateway.launch.commands.oversight.fairness import check_run, run_window

    settings = settings_of(state)
    if check is not None:
        raise typer.Exit(check_run(settings, check))
    raise typer.Exit(run_window(settings, (first, last or first), as_json=as_json))


def swaps(
    decision: Annotated[str, typer.Argument(help="decision id, from `countersign decisions`")],
    pairs: Annotated[
        Path, typer.Option("--pairs", help="JSON: placebo words, and pairs of names to exchange")
    ],
    actor: Annotated[
        str, typer.Option("--as", help="with --record: name of your key")
    ] = "operator",
    state: StateOption = None,
    *,
    record: Annotated[
        bool, typer.Option("--record", help="record the run in the running gateway; R48 reads it")
    ] = False,
) -> None:
    """Sample a text pair's decision again with names of its headlines exchanged (test F2).

    Starts the engine, takes a minute, prints JSON. Exit code 1 if a swap moved the forecast beyond
    what identity and placebo move. With --record every later verdict on a forecast of these
    weights reads the result (R48). docs/text-models.md has the file's form.

    Example: countersign swaps r1-0003-SPXN --pairs swaps.json --record
    """
    from gateway.evidence.fairness.swaps import run_swaps
    from gateway.launch.commands.oversight.fairness import swaps_recorder

    recorder = swaps_recorder(settings_of(state), actor) if record else None
    with place_of(state) as place:
        raise typer.Exit(run_swaps(place, decision, pairs, recorder))


def flow(
    first: Annotated[str, typer.Option("--from", help="first UTC day, such as 2026-11-20")],
    last: Annotated[str, typer.Option("--to", help="last day (default: the first)")] = "",
    state: StateOption = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Print what was refused or held, by rule and reason, and how long each part of the way took.

    Times run from the decision's first record over verdict, announcement and wire to the broker's
    first report and first fill: cases, p50, p90 and p99. They are of the gateway's wall clock.

    Example: countersign flow --from 2026-11-20 --to 2026-11-23
    """
    from gateway.evidence.answers.printing import print_flow

    with place_of(state) as place:
        raise typer.Exit(print_flow(place.reader, first, last or first, as_json=as_json))


def scores(
    state: StateOption = None,
    *,
    check: Annotated[
        bool, typer.Option("--check", help="compute every score on record again")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Print how forecasts did against the bars that came: CRPS beside the table's, and drift.

    A forecast is scored at its first and at its last bar. Evidence is an e-value: above 20 the
    ranks of what came are not even, at odds of 20 to 1. With --check, exit code 1 if a score on
    record does not follow from the records before it.

    Example: countersign scores
    """
    from gateway.evidence.answers.printing import print_scores

    with place_of(state) as place:
        raise typer.Exit(print_scores(place.reader, check=check, as_json=as_json))


def engine_adds(
    account: Annotated[
        str, typer.Option("--account", help="account; default: that of the newest run")
    ] = "",
    state: StateOption = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Print the account against its GJR twin: what scale, words and execution made, and the sum.

    The three columns sum to what the account made less what a simulation of GJR made, never sent,
    through the same sizing and policy. One path over part of one year is no evidence of skill.

    Example: countersign engine-adds
    """
    from gateway.evidence.answers.engine_adds import print_adds

    with place_of(state) as place:
        typer.echo(print_adds(place.reader, account, as_json=as_json))
