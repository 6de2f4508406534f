"""evaluate: forecasts judged on any folder of series."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import settings_of

DataOption = Annotated[
    Path, typer.Option("--data", help="folder of *.csv or *.csv.gz (also in daily/ and hourly/)")
]
FromOption = Annotated[
    datetime, typer.Option("--from", formats=["%Y-%m-%d"], help="first bar that is forecast")
]
ToOption = Annotated[
    datetime | None, typer.Option("--to", formats=["%Y-%m-%d"], help="last bar that is read")
]
SeriesOption = Annotated[list[str], typer.Option(help="a file's name without .csv; repeat it")]
EveryOption = Annotated[int, typer.Option(min=1, help="forecast one of so many bars, drawn")]
JsonOption = Annotated[Path | None, typer.Option("--json", help="write every figure here")]
HtmlOption = Annotated[Path | None, typer.Option("--html", help="write a page with plots here")]
WhyOption = Annotated[str, typer.Option(help="why you look; kept in the register of looks")]
AloneOption = Annotated[
    bool, typer.Option("--baselines", help="only the baselines, without a model pair")
]


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command()(evaluate)


def evaluate(  # noqa: PLR0913, PLR0917 - each argument is an option
    data: DataOption,
    first: FromOption,
    last: ToOption = None,
    series: SeriesOption = [],  # noqa: B006 - typer copies it
    every: EveryOption = 1,
    why: WhyOption = "",
    as_json: JsonOption = None,
    html: HtmlOption = None,
    baselines: AloneOption = False,
) -> None:
    """Judge the model pair's forecasts on your own series against six baselines.

    CRPS and log score 1, 5 and 20 bars ahead, QLIKE, coverage, PIT, VaR and ES tests, with
    intervals. A file has the columns time and close, and open, high, low where there are ranges.

    Scores are kept, so that the same command goes on after Ctrl-C. A look at years after 2015 is
    recorded in evaluation/looks.jsonl of the state folder before anything is scored.

    Example: countersign evaluate --data prices --from 2014-01-01 --to 2015-12-31 --html out.html
    """
    from gateway.cli.evaluation import Outputs, judge

    asked = {"data": data, "first": first.date(), "last": last.date() if last else None}
    plan = {"series": tuple(series), "every": every, "why": why}
    outputs = Outputs(as_json=as_json, html=html)
    raise typer.Exit(judge(settings_of(), outputs, baselines=baselines, asked={**asked, **plan}))
