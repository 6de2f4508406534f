"""`docs/measured/evaluation.md`: each bar with its figure, interval, reached or not reached."""

import math
from typing import Any, Final

_UPPER: Final = {1: 1.003, 5: 1.010, 20: 1.020}
_POINT: Final = {"baseline": 0.998, "codec": 1.000}
_COVERAGE: Final = (0.87, 0.93)
_HITS: Final = (0.02, 0.03)
_HEAD: Final = "| bar | figure | 90 % interval | |\n|---|---|---|---|"


def evaluation_page(manifest: dict[str, Any], found: dict[str, Any]) -> str:
    """Return the page from the manifest of `choose` and the figures of `look`."""
    figures, before = found["figures"], manifest["figures_2014_2015"]
    counted = {name: part["figures"]["crps/gjr/1"] for name, part in figures.items()}
    sizes = ", ".join(
        f"{name} {c['series']} series and {c['origins']:,} origins" for name, c in counted.items()
    )
    ranged = ", ".join(f"{part['ranged']} {name}" for name, part in figures.items())
    parts = [
        "# Pair v2, 2016-2017",
        (
            "Written by `python -m scripts.research.judged look`. Look "
            f"{found['look']} at these years by this code, recorded in "
            "`scripts/research/judged/looks.jsonl`; nothing was tuned after it."
        ),
        f"""One series per company and frequency ({sizes}), each forecast at every bar, 5 and 20
bars at every fifth bar by 256 paths. Pair v2's rows are those shipped, learnt to 2015, and pair
v3's where there is no news; the scale is fitted each quarter on the series' own past. Ratios are
geometric means over series, below 1 is better; differences are means over series, below 0 is
better. Intervals draw calendar months for all series at once, in runs of 1, 2 and 3 months for 1, 5
and 20 bars. The one daily baseline, `{manifest["baseline_daily"]}`, was best of
{", ".join(manifest["candidates"])} on 2014-2015; manifest {found["manifest"][:16]}.
`codec` is filtered simulation on the same scale with the series' own standardised returns since
2013, up to each quarter. QLIKE has the range as proxy where the file
has ranges ({ranged} series), else the squared return.""",
        "## Bars",
        _table(_bars(manifest, figures)),
        """The joint loss (FZ0) can be negative, so its ratio is the exponential of the mean
difference. Tracking is the mean of |realised / target - 1| over 63-day windows of returns sized to
10 % a year, without a cap or a no-trade band.""",
        "## Backtests at 97.5 %",
        _backtests(figures),
        "## The same figures on 2014-2015",
        (
            "These years chose the baseline and the range's weight, and **the shipped rows learnt "
            "from them**, so they are in sample. The model card has the rows learnt to 2013."
        ),
        _table(_bars(manifest, before)),
        "## Not reached by this page",
        """- The share of decisions that another seed changes is in [seeds.md](seeds.md).
- Series without ranges and later years have no figures of their own; survivors are
  over-represented, and most series are large US companies.
- HAR on ranges was no candidate for the baseline: it exists for part of the series only.
- The hourly rival is scored at one bar only.""",
    ]
    return "\n\n".join(parts) + "\n"


_Line = tuple[str, str, str, bool]


def _bars(manifest: dict[str, Any], figures: dict[str, Any]) -> list[_Line]:
    daily = figures["daily"]["figures"]
    lines = []
    for name, rival in (("baseline", manifest["baseline_daily"]), ("codec", "codec")):
        one = daily[f"crps/{rival}/1"]
        limit = _POINT[name]
        lines.append(_line(f"daily CRPS / {rival}, 1 bar: at most {limit:.3f}", one, limit))
        for horizon, upper in _UPPER.items():
            bars = "1 bar" if horizon == 1 else f"{horizon} bars"
            text = f"daily CRPS / {rival}, {bars}: upper end at most {upper:.3f}"
            lines.append(_line(text, daily[f"crps/{rival}/{horizon}"], upper, end=True))
    lines.append(_line("daily CRPS / EWMA, 1 bar: at most 0.990", daily["crps/ewma/1"], 0.990))
    hourly = figures.get("hourly")
    if hourly is not None:
        one = hourly["figures"]["crps/hourly-garch/1"]
        text = "hourly CRPS / GARCH-t by hour of week, 1 bar: at most 1.000"
        lines.append(_line(text, one, 1.0))
    for frequency, part in figures.items():
        lines += _coverage(frequency, part["coverage_90"])
    for frequency, part in figures.items():
        for rival in ("gjr", "codec"):
            one = part["figures"][f"qlike/{rival}/1"]
            text = f"{frequency} QLIKE less {rival}'s: at most 0"
            lines.append(_line(text, one, 0.0))
    one = daily["tracking/gjr/20"]
    text = "daily 63-day tracking error less gjr's: upper end at most +0.01"
    lines.append(_line(text, one, 0.01, end=True))
    joint = _exponential(daily["tail/gjr/1"])
    lines.append(_line("daily joint VaR-ES loss / gjr's: at most 1", joint, 1.0))
    lines.append(_line("the same: upper end at most 1.01", joint, 1.01, end=True))
    for name in ("pair", "gjr"):
        hits = daily[f"hits/{name}/1"]
        inside = _HITS[0] <= hits["value"] <= _HITS[1]
        text = f"daily exceedances at 97.5 %, {name}: 2.0 to 3.0 %"
        lines.append((text, f"{100 * hits['value']:.2f} %", _interval(hits, 100.0), inside))
    return lines


def _line(text: str, figure: dict[str, Any], limit: float, *, end: bool = False) -> _Line:
    high = figure["interval_90"][1]
    judged = high if end else figure["value"]
    reached = judged is not None and judged <= limit
    return text, f"{figure['value']:.4f}", _interval(figure), reached


def _interval(figure: dict[str, Any], factor: float = 1.0) -> str:
    low, high = figure["interval_90"]
    if low is None or high is None:
        return "too few months"
    return f"{factor * low:.4f} to {factor * high:.4f}"


def _exponential(figure: dict[str, Any]) -> dict[str, Any]:
    ends = [None if end is None else math.exp(end) for end in figure["interval_90"]]
    return {"value": math.exp(figure["value"]), "interval_90": ends}


def _coverage(frequency: str, classes: dict[str, Any]) -> list[_Line]:
    low, high = _COVERAGE
    return [
        (
            f"{frequency} 90 % coverage, {name} ({one['series']} series): 0.87 to 0.93",
            f"{one['share']:.4f}",
            "",
            low <= one["share"] <= high,
        )
        for name, one in classes.items()
    ]


def _table(lines: list[_Line]) -> str:
    rows = [
        f"| {text} | {figure} | {interval} | {'reached' if good else '**not reached**'} |"
        for text, figure, interval, good in lines
    ]
    return "\n".join((_HEAD, *rows))


def _backtests(figures: dict[str, Any]) -> str:
    rows = ["| bars | test | series | rejected at 5 % | after Holm |", "|---|---|---|---|---|"]
    for frequency, part in figures.items():
        rows += [
            f"| {frequency} | {name.replace('_', '-')} | {one['series']} | {one['rejected']} | "
            f"{one['rejected_holm']} |"
            for name, one in part["backtests"].items()
        ]
    return "\n".join(rows)
