"""The model card of pair v2, written from its facts."""

from typing import Any


def scaled_card(facts: dict[str, Any]) -> str:
    """Return `MODEL_CARD.md` from the facts of the manifest."""
    sources = facts["data"]["sources"]
    count = sum(source["returns"] for source in sources)
    ranged = sum(source["ranges"] for source in sources)
    parts = [
        "# Model card: Countersign pair v2",
        "Written by `python -m scripts.research.scaled`; every figure is from `manifest.json`.",
        """## What it is

Filtered historical simulation on a fitted scale, in the form that the engine serves. A return is
divided by the volatility of codec 2: GARCH-t and GJR-t and, where bars have highs and lows, a
log-HAR on their ranges, all fitted on the series' own past each quarter and recorded in the
snapshot. The target is a one-layer network whose weights were set, not trained: for each class and
frequency it returns one row of 256 bins, the histogram of such returns. Path and scale run on
together. **No trained network is in this pair, and it does not read news.**""",
        f"""## Data

{len(sources)} series, {count:,} returns, {ranged} series with ranges, all cut at
{facts["data_cutoff"]}. Rows learnt until {facts["data"]["learnt_until"]}. 2016 and later were not
read. Licences and digests are in the manifest; the data is not shipped.""",
        """## Figures on 2014-2015

Rows learnt until 2013. CRPS as a ratio (below 1 is better; geometric mean over series, one per
company), log score and QLIKE as differences (below 0 is better; proxy of QLIKE: the squared
return), each with a 90 % interval that resamples whole months of all series. One bar is exact; 5
and 20 bars are fair CRPS of 256 paths, against GJR-t simulated with as many.""",
        _table(facts["figures"]),
        _gate(facts["gate"]),
        f"""## Limits

- The range's weight (two thirds) was chosen on 2014-2015 too, so these figures are a little
  optimistic. 2016-2017 are for one look by `countersign evaluate`.
{_against_gjr(facts["figures"])}
- It has no opinion on direction beyond the mean of its class, and hears no words.
- The draft network is the target itself, and the drafter's table has the target's rows: nearly
  every draft is accepted, which says nothing about the forecast.
- Rows as served differ from the table by at most {facts["rounding"]:.1e} in total variation
  (float16).
- The universe has survivorship bias; most series are large US companies.""",
    ]
    return "\n\n".join(parts) + "\n"


def _table(figures: dict[str, Any]) -> str:
    rows = [
        "| series | rival | CRPS, 1 bar | better | log score | QLIKE | CRPS, 5 bars | 20 bars |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for label, found in figures.items():
        for rival in ("ewma", "garch", "gjr"):
            one = found[rival]
            first = one["crps_h1"]
            later = [_said(one[name]) if name in one else "-" for name in ("crps_h5", "crps_h20")]
            rows.append(
                f"| {label} | {rival} | {_said(first)} | {first['better']} of {first['series']} | "
                f"{_said(one['log_score'])} | {_said(one['qlike'])} | {later[0]} | {later[1]} |"
            )
    covered = ", ".join(f"{label} {found['coverage_90']:.3f}" for label, found in figures.items())
    return "\n".join(rows) + f"\n\nCoverage of the central 90 % at one bar: {covered}."


def _said(figure: dict[str, Any]) -> str:
    low, high = figure["interval_90"]
    return f"{figure['figure']:.4f} [{low:.4f}, {high:.4f}]"


def _against_gjr(figures: dict[str, Any]) -> str:
    """Return one line for each kind of series: what one bar's interval says against GJR-t."""
    lines = []
    for label, found in figures.items():
        first = found["gjr"]["crps_h1"]
        low, high = first["interval_90"]
        verdict = (
            "better than" if high < 1.0 else "worse than" if low > 1.0 else "no different from"
        )
        lines.append(
            f"- {label.capitalize()}: {verdict} GJR-t at one bar, CRPS ratio {_said(first)}."
        )
    return "\n".join(lines)


def _gate(gate: dict[str, Any]) -> str:
    reached = [label for label, good in gate["below_gjr"].items() if good]
    missed = [label for label, good in gate["below_gjr"].items() if not good]
    return f"""## Release gate

A network replaces the table only when its interval lies below both the table and GJR-t at one bar
on these years. Network: {gate["network"]}.
The table itself lies below GJR-t at one bar with its interval: {", ".join(reached) or "none"};
not reached: {", ".join(missed) or "none"}."""
