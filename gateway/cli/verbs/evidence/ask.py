"""ask: a supervisor's questions, each answered from records with their numbers and leaves."""

from typing import Annotated

import typer

from gateway.cli.place import StateOption, place_of

DECISION_HELP = "decision id, from `countersign decisions`, or an order's ClOrdID"
JSON_HELP = "print JSON, with leaves and times"
JsonOption = Annotated[bool, typer.Option("--json", help=JSON_HELP)]
DayArgument = Annotated[str, typer.Argument(help="UTC day, such as 2026-11-20")]


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    asking = typer.Typer(
        name="ask",
        help="Answer a supervisor's question from the records, with proof; docs/supervisor.md"
        " has them all.",
        no_args_is_help=True,
    )
    for verb in (
        limit,
        rejected,
        approval,
        model,
        words,
        changes,
        kill_test,
        orders,
        deleted,
        overrides,
    ):
        asking.command()(verb)
    asking.command("access")(access)
    app.add_typer(asking)


def limit(
    name: Annotated[str, typer.Argument(help="part of a limit's name, such as order_notional_max")],
    state: StateOption = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Who set this limit, and why? Each value that it had, with owner, reason and signers.

    Example: countersign ask limit account.order_notional_max
    """
    from gateway.evidence.answers.answer import print_answer
    from gateway.evidence.answers.governance import limit_answer

    with place_of(state) as place:
        found = limit_answer(place.reader, name)
        raise typer.Exit(print_answer(found, place.reader, as_json=as_json))


def rejected(
    day: DayArgument,
    last: Annotated[str, typer.Option("--to", help="last day (default: the first)")] = "",
    state: StateOption = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """What was rejected on a day, and by which rule? Also what was held, or refused elsewhere.

    Example: countersign ask rejected 2026-11-20
    """
    from gateway.evidence.answers.answer import print_answer
    from gateway.evidence.answers.trades import rejected_answer

    with place_of(state) as place:
        found = rejected_answer(place.reader, day, last or day)
        raise typer.Exit(print_answer(found, place.reader, as_json=as_json))


def approval(
    order: Annotated[str, typer.Argument(help=DECISION_HELP)],
    state: StateOption = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Who approved this order, and what did he see? --json has the sheet that he was shown.

    Example: countersign ask approval QVAAPQE6KGDMGZZKQN7V
    """
    from gateway.evidence.answers.answer import print_answer
    from gateway.evidence.answers.trades import approval_answer

    with place_of(state) as place:
        found = approval_answer(place.reader, order)
        raise typer.Exit(print_answer(found, place.reader, as_json=as_json))


def model(
    decision: Annotated[str, typer.Argument(help=DECISION_HELP)],
    state: StateOption = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Which model and weights made this forecast?

    Example: countersign ask model DECISION
    """
    from gateway.evidence.answers.answer import print_answer
    from gateway.evidence.answers.trades import model_answer

    with place_of(state) as place:
        found = model_answer(place.reader, decision)
        raise typer.Exit(print_answer(found, place.reader, as_json=as_json))


def words(
    decision: Annotated[str, typer.Argument(help=DECISION_HELP)],
    state: StateOption = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """What did words change? The forecast beside its twin, whose prompt had no news.

    Example: countersign ask words DECISION
    """
    from gateway.evidence.answers.answer import print_answer
    from gateway.evidence.answers.trades import words_answer

    with place_of(state) as place:
        found = words_answer(place.reader, decision)
        raise typer.Exit(print_answer(found, place.reader, as_json=as_json))


def changes(since: DayArgument, state: StateOption = None, *, as_json: JsonOption = False) -> None:
    """What changed in policy, model, mode, keys or scopes since a date?

    Example: countersign ask changes 2026-11-01
    """
    from gateway.evidence.answers.answer import print_answer
    from gateway.evidence.answers.governance import changes_answer

    with place_of(state) as place:
        found = changes_answer(place.reader, since)
        raise typer.Exit(print_answer(found, place.reader, as_json=as_json))


def kill_test(state: StateOption = None, *, as_json: JsonOption = False) -> None:
    """When was the kill last tested, and how fast was it?"""
    from gateway.evidence.answers.answer import print_answer
    from gateway.evidence.answers.governance import drill_answer

    with place_of(state) as place:
        found = drill_answer(place.reader)
        raise typer.Exit(print_answer(found, place.reader, as_json=as_json))


def overrides(state: StateOption = None, *, as_json: JsonOption = False) -> None:
    """Which limits were lifted once, by whom, why, and for which order?

    Example: countersign ask overrides
    """
    from gateway.evidence.answers.answer import print_answer
    from gateway.evidence.answers.governance import overrides_answer

    with place_of(state) as place:
        found = overrides_answer(place.reader)
        raise typer.Exit(print_answer(found, place.reader, as_json=as_json))


def orders(
    instrument: Annotated[str, typer.Argument(help="symbol, as the orders name it")],
    first: Annotated[str, typer.Option("--from", help="first UTC day, such as 2026-11-20")],
    last: Annotated[str, typer.Option("--to", help="last day (default: the first)")] = "",
    state: StateOption = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Which orders of an instrument were sent in a range of days?

    Example: countersign ask orders AAPL --from 2026-11-01 --to 2026-11-20
    """
    from gateway.evidence.answers.answer import print_answer
    from gateway.evidence.answers.trades import orders_answer

    with place_of(state) as place:
        found = orders_answer(place.reader, instrument, first, last or first)
        raise typer.Exit(print_answer(found, place.reader, as_json=as_json))


def deleted(state: StateOption = None, *, as_json: JsonOption = False) -> None:
    """Was anything deleted? Missing records, erasures, restores, disavowed rows."""
    from gateway.evidence.answers.answer import print_answer
    from gateway.evidence.answers.governance import deletions_answer

    with place_of(state) as place:
        found = deletions_answer(place.reader)
        raise typer.Exit(print_answer(found, place.reader, as_json=as_json))


def access(state: StateOption = None, *, as_json: JsonOption = False) -> None:
    """Who may do what? Each role's actions, and each agent's newest scope on record."""
    from gateway.evidence.answers.answer import print_answer
    from gateway.evidence.answers.governance import access_answer

    with place_of(state) as place:
        found = access_answer(place.reader)
        raise typer.Exit(print_answer(found, place.reader, as_json=as_json))
