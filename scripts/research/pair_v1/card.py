"""The model card, written from the manifest."""

from typing import Any, Final

DIRECTION_BAR: Final = 0.25
"""Shift, in sigma, between strong good and strong bad news from which direction counts as heard."""


def model_card(manifest: dict[str, Any]) -> str:
    """Return `MODEL_CARD.md` of a pair from its manifest."""
    run, data = manifest["training"], manifest["data"]
    sources = data["sources"]
    codec = manifest["codec"]
    counted = [sum(s[key] for s in sources) for key in ("train_returns", "validation_returns")]
    state = "finished" if run["finished"] else "STOPPED EARLY"
    if len(run["budgets_minutes"]) > 1:
        state += f", schedule stretched on resume (minutes {run['budgets_minutes']})"
    parts = [
        "# Model card: Countersign pair v1",
        "Written by `python -m scripts.research.pair_v1`; every figure comes from `manifest.json`.",
        f"""## What it is

A model that forecasts returns scaled by causal volatility ({codec["version"]}, digest
`{codec["digest"][:16]}`), and two drafters for speculative decoding.""",
        _models(manifest),
        f"Files: {manifest['bytes'] / 1e6:.1f} MB. Storage: {manifest['storage']}.",
        f"""## Data

Training until {data["train_until"]}, validation {data["validation"]}, split by calendar time across
all series; later data was not read. {len(sources)} series, {counted[0]:,} returns to train on,
{counted[1]:,} to validate on. The manifest lists every source with licence, rows and SHA-256; the
data is not shipped.

Half of each batch is real, a quarter is real with planted news, a quarter is synthetic (GARCH with
t shocks, regimes, jumps, mean reversion) for asset classes without real series. The last part of
the run adds short real sequences with dense planted news.""",
        f"""## Training

{run["steps"]:,} steps, {run["tokens"] / 1e6:.1f} M tokens, {run["minutes"]:.0f} minutes on
{run["threads"]} CPU threads at low priority, seed {run["seed"]}, {state}. AdamW, cosine decay, mean
of the weights, ordinal labels, depth grown from a third to all layers.""",
        """## Skill on 2016-2017

CRPS as a ratio to a Gaussian with EWMA(0.94) volatility (below 1 is better), geometric mean over
series, 90 % interval by bootstrap over months; coverage of the central 90 %. One bar is exact, five
and ten are sampled (64 paths, long series only).""",
        _skill(manifest["skill"]),
        """## News

The planted truth for one strong fresh tag is a lean of 0.25 sigma and a volatility ratio of 1.15 to
1.6; a fifth of the tags is false.""",
        _news(manifest["news_effect"]),
        "## Speculation",
        "Measured offline, on held-out continuations that the target drew at temperature 1:",
        _acceptance(manifest["acceptance"]),
        "## Limits",
        _LIMITS,
    ]
    return "\n\n".join(parts) + "\n"


_LIMITS = """\
- It gives no advice and has no edge in direction: it mostly knows the volatility and shape of
  returns.
- This project planted the news effects in training: the figures above say how far the model hears a
  tag, not how markets behave. ECHO tags (descriptions of a past move) are trained to have no
  effect.
- The universe has survivorship bias; most equities are large US companies.
- It does not use the highs and lows of bars, and cannot draw moves beyond 16 sigma.
- The classes crypto, rates, volatility and other were trained (almost) on synthetic data only.
- High acceptance of a drafter means that rows are alike, not that a forecast is good."""


def _models(manifest: dict[str, Any]) -> str:
    rows = ["| part | layers | width | parameters |", "|---|---|---|---|"]
    rows += [
        f"| {name} | {shape['layers']} | {shape['width']} | {shape['parameters']:,} |"
        for name, shape in manifest["shapes"].items()
    ]
    rows.append(f"| table | - | - | {manifest['table_rows']} rows of 256 |")
    return "\n".join(rows)


def _skill(skill: dict[str, Any]) -> str:
    rows = [
        "| bars | horizon | CRPS / EWMA | 90 % interval | coverage | series | origins |",
        "|---|---|---|---|---|---|---|",
    ]
    for frequency, horizons in skill.items():
        for horizon in sorted(horizons, key=lambda name: int(name.removeprefix("h"))):
            figures = horizons[horizon]
            low, high = figures["interval_90"]
            rows.append(
                f"| {frequency} | {horizon.removeprefix('h')} | {figures['crps_over_ewma']:.4f} | "
                f"{low:.4f} to {high:.4f} | {figures['coverage_90']:.3f} | {figures['series']} | "
                f"{figures['origins']} |"
            )
    return "\n".join(rows)


def _news(effect: dict[str, Any]) -> str:
    heard = effect["dose_response"] >= DIRECTION_BAR
    verdict = "" if heard else " So this pair does NOT hear the direction of news."
    shifts = ", ".join(
        f"{k.replace('_', ' ')} {v:+.3f}" for k, v in effect["mean_shift_sigma"].items()
    )
    ratios = ", ".join(f"{k} {v:.2f}" for k, v in effect["volatility_ratio_strong"].items())
    return (
        f"Same {effect['contexts']} real contexts with and without one fresh tag, closed form, one "
        f"bar. Mean shift in sigma: {shifts} (positive strong minus negative strong: "
        f"{effect['dose_response']:+.3f}). Volatility ratio of a strong neutral tag: {ratios}. "
        f"Largest mean shift by ECHO: {effect['echo_shift_sigma_max']:.3f} sigma.{verdict}"
    )


def _acceptance(figures: dict[str, Any]) -> str:
    rows = ["| drafter | per token | mean accepted of 4 |", "|---|---|---|"]
    rows += [
        f"| {name} | {figure['per_token']:.4f} | {figure['mean_accepted']:.3f} |"
        for name, figure in figures.items()
        if isinstance(figure, dict)
    ]
    return "\n".join(rows)
