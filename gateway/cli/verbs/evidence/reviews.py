"""review: decisions judged again by a person who has not seen the model's answer."""

from typing import Annotated

import typer

from gateway.cli.place import StateOption, settings_of

_KEY = typer.Option("--as", help="name of your key in the key folder")
_REVIEW = typer.Argument(help="number from `countersign review list`")


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    review = typer.Typer(
        name="review",
        help="Blind reviews: draw a sample of decisions, judge them, see how far you agree.",
        no_args_is_help=True,
    )
    review.command("list")(listed)
    review.command()(draw)
    review.command()(show)
    review.command()(answer)
    app.add_typer(review)


def listed(
    actor: Annotated[str, _KEY] = "auditor",
    state: StateOption = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """List the samples with their answers and Cohen's kappa, newest first.

    Example: countersign review list
    """
    from gateway.launch.commands.oversight.reviews import list_reviews

    raise typer.Exit(list_reviews(settings_of(state), actor, as_json=as_json))


def draw(
    first: Annotated[str, typer.Option("--from", help="first UTC day, such as 2026-11-16")],
    last: Annotated[str, typer.Option("--to", help="last day (default: the first)")] = "",
    count: Annotated[int, typer.Option(min=1, max=50, help="how many decisions")] = 5,
    actor: Annotated[str, _KEY] = "auditor",
    state: StateOption = None,
) -> None:
    """Draw a sample of the decisions of these days. The log's root draws, once for each range.

    Example: countersign review draw --from 2026-11-16 --to 2026-11-22
    """
    from gateway.launch.commands.oversight import reviews

    raise typer.Exit(reviews.draw(settings_of(state), actor, (first, last or first), count))


def show(
    seq: Annotated[int, _REVIEW],
    actor: Annotated[str, _KEY] = "approver",
    state: StateOption = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Print what was known before each decision; the model's answer follows yours.

    Example: countersign review show 4711
    """
    from gateway.launch.commands.oversight import reviews

    raise typer.Exit(reviews.show(settings_of(state), actor, seq, as_json=as_json))


def answer(
    seq: Annotated[int, _REVIEW],
    decision_id: Annotated[str, typer.Argument(help="a decision of the sample")],
    say: Annotated[str, typer.Option(help="buy, sell or none")],
    note: Annotated[str, typer.Option(help="why; recorded")],
    actor: Annotated[str, _KEY] = "approver",
    state: StateOption = None,
) -> None:
    """Say which order you would have wanted. You are refused if you opened the decision before.

    Example: countersign review answer 4711 r1-0007 --say none --note "the range is too wide"
    """
    from gateway.launch.commands.oversight import reviews

    settings = settings_of(state)
    raise typer.Exit(reviews.answer(settings, actor, seq, decision_id, (say, note)))
