"""The model card of pair v3, and the page of its figures, written from the manifest."""

import textwrap
from typing import Any, Final

DOSE_BAR: Final = 0.25
ECHO_BAR: Final = 0.03
SPREAD_BAR: Final = (1.2, 2.0)
TRUE_BAR: Final = 0.9
FALSE_BAR: Final = 0.55
REAL_BAR: Final = 1.002
DIRECTED: Final = "crowd, directed (weak)"
SERVED: Final = (
    "all, at the first open that may see them",
    DIRECTED,
    "crowd, all (weak)",
    "decisions, the open after (macro, strong)",
    "meetings, noticed at the open before (macro, strong)",
)
"""Kinds of real tags that must keep the bar."""


def bars(manifest: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """Return each bar's text, its figure, and whether it is reached."""
    dose, skill = manifest["planted"]["dose"], manifest["planted"]["skill"]
    found = manifest["planted"]["detected"]
    low, high = SPREAD_BAR
    ratios = dose["scheduled"]
    crps = skill["crps"]
    strong, echo = found["fresh strong tags"], found["echo"]
    rows = [
        (
            f"mean, strong positive minus strong negative, at least {DOSE_BAR} sigma",
            (
                f"{dose['strong_positive_minus_negative']:.3f} "
                f"(least of a type {dose['smallest_of_a_type']:.3f})"
            ),
            dose["strong_positive_minus_negative"] >= DOSE_BAR,
        ),
        ("monotone in strength and direction", str(dose["monotone"]).lower(), dose["monotone"]),
        (
            f"shift of ECHO below {ECHO_BAR} sigma (silent by construction)",
            f"{dose['echo_shift_max']:.4f}",
            dose["echo_shift_max"] < ECHO_BAR,
        ),
        (
            f"spread after scheduled strong events, {low} to {high} times",
            ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items()),
            all(low <= ratio <= high for ratio in ratios.values()),
        ),
        (
            "CRPS with the tags told, below without, below other prompts' tags",
            (
                f"{crps['told']:.5f}, {crps['without']:.5f}, {crps['shuffled']:.5f} (t "
                f"{skill['t_without_minus_told']:.1f}, {skill['t_shuffled_minus_without']:.1f})"
            ),
            crps["told"] < crps["without"] < crps["shuffled"],
        ),
        (
            f"F152: excess rejection finds true strong tags, area at least {TRUE_BAR}",
            f"{strong['excess']:.3f}; by rejections of 32 drafts alone {strong['rejected']:.3f}",
            min(strong["excess"], strong["rejected"]) >= TRUE_BAR,
        ),
        (
            f"F152: and echoes at most {FALSE_BAR}",
            f"{echo['excess']:.3f}; {echo['rejected']:.3f}",
            max(echo["excess"], echo["rejected"]) <= FALSE_BAR,
        ),
    ]
    return rows + _real_bars(manifest)


def _real_bars(manifest: dict[str, Any]) -> list[tuple[str, str, bool]]:
    real = manifest["real"]
    if real is None:
        return [("real origins with a fresh tag", "not measured", False)]
    rows = []
    for name in SERVED:
        high = real[name]["crps"]["interval_90"][1]
        text = f"real origins, {name}: CRPS with over without, upper end at most {REAL_BAR}"
        rows.append((text, _said(real[name]["crps"]), high <= REAL_BAR))
    first = real[DIRECTED]
    rows.append(
        (
            "real origins: the mean shift is no larger than the upper end of what was seen",
            f"said {first['shift_said']:+.4f}, seen {_said(first['shift_seen'])}",
            first["shift_said"] <= first["shift_seen"]["interval_90"][1],
        )
    )
    return rows


def hearing_card(manifest: dict[str, Any]) -> str:
    """Return `MODEL_CARD.md` of a manifest."""
    plan, data = manifest["plan"], manifest["data"]
    target = manifest["shapes"]["target"]
    return (
        "\n\n".join(
            (
                "# Model card: Countersign pair v3",
                (
                    "Written by `python -m scripts.research.hearing`; every figure is from "
                    "`manifest.json`."
                ),
                f"""## What it is

The target is pair v2's table on the fitted scale, and a part that hears words: type, direction,
strength and age of up to three events move the mean of the row and widen it, and fade over the
bars after the prompt. {target["layers"]} layers of width {target["width"]}. The table's weights
are set, not trained (`{data["rows_of"]}`, its manifest {data["rows_of_manifest"][:16]}..); the
words' part is trained. Drafter, network and table, is `{data["rows_of"]}`'s, byte for byte: it
knows numbers only. **Where the target rejects a draft, a word was heard.** Without news target and
drafter have the same rows (largest difference {manifest["rounding"]:.1e}), and no draft is
rejected. An ECHO, which tells a move that already happened, has no way into the network.""",
                f"""## What words mean

The meaning of a word is a convention of planted worlds, not a finding about markets.
{plan["steps"]} steps of {plan["prompts"]} prompts, seed {plan["seed"]}, each prompt in a world of
its own: {_ranges(manifest)}.

A word counts for what it was worth on average over these worlds, false and late tags included.
`strong` is a claim of the feed, which only a primary source (tier 1) should make. What a crowd says
is weak, and weak moves almost nothing.""",
                f"## Bars\n\n{_bar_table(manifest)}",
                _limits(manifest),
            )
        )
        + "\n"
    )


def _ranges(manifest: dict[str, Any]) -> str:
    spans = (
        f"{name.replace('_', ' ')} {low:g} to {high:g}"
        for name, (low, high) in manifest["worlds"].items()
    )
    return textwrap.fill(", ".join(spans), 100)


def _bar_table(manifest: dict[str, Any]) -> str:
    lines = ["| bar | figure | reached |", "|---|---|---|"]
    lines += [
        f"| {text} | {figure} | {'yes' if good else 'not reached'} |"
        for text, figure, good in bars(manifest)
    ]
    return "\n".join(lines)


def _limits(manifest: dict[str, Any]) -> str:
    real = manifest["real"]
    lines = [
        (
            "- No strong tag with a direction is in the data of 2014-2015, so nothing here shows "
            "that real strong news moves the mean as planted news does."
        ),
    ]
    if real is not None:
        bold = real["crowd, directed, were it called strong"]
        lines.append(
            "- The same crowd tags, were they called strong, would move the mean by "
            f"{bold['shift_said']:+.3f} sigma where {_said(bold['shift_seen'])} was seen, at a "
            f"CRPS of {_said(bold['crps'])} times the table's: so a feed must not call a crowd "
            "strong."
        )
    lines += [
        (
            "- A tag is heard whether it is true or false: rejections show where words acted, not "
            "that they were right."
        ),
        "- Effects of several events add; the numbers before them do not change what they mean.",
        (
            "- Without news target and drafter agree by construction, so acceptance says nothing "
            "about the forecast. The forecast without news is pair v2's, with its limits."
        ),
    ]
    return "## Limits\n\n" + "\n".join(lines)


def words_page(manifest: dict[str, Any]) -> str:
    """Return `docs/measured/words.md` of a manifest."""
    return (
        "\n\n".join(
            (
                "# What words do to a forecast",
                (
                    "Generated by `python -m scripts.research.hearing`; do not edit. Pair v3, on "
                    "planted worlds that it was not fitted to, and on real origins of 2014-2015. "
                    "2016 and later were not read."
                ),
                f"## Bars\n\n{_bar_table(manifest)}",
                f"## What a word does\n\n{_dose(manifest)}",
                f"## Where words overruled numbers\n\n{_detected(manifest)}",
                f"## Real origins of 2014-2015\n\n{_real(manifest)}",
            )
        )
        + "\n"
    )


def _dose(manifest: dict[str, Any]) -> str:
    dose = manifest["planted"]["dose"]
    lines = [
        "First bar, mean over the types that speak and all classes and frequencies.",
        "",
        "| direction and strength | shift of the mean, sigma | largest of a type |",
        "|---|---|---|",
    ]
    largest = dose["largest_of_a_type"]
    lines += [
        f"| {name.replace('_', ', ')} | {shift:+.4f} | {largest[name]:+.4f} |"
        for name, shift in dose["mean_shift_sigma"].items()
    ]
    lines += ["", "| type, neutral and strong | spread, times the table's |", "|---|---|"]
    lines += [f"| {name} | {ratio:.3f} |" for name, ratio in dose["spread_ratio_strong"].items()]
    return "\n".join(lines)


def _detected(manifest: dict[str, Any]) -> str:
    found = manifest["planted"]["detected"]
    lines = [
        (
            "Area under the curve against prompts without a tag, on unseen worlds. *Variation* is "
            "the total variation between the target's and the drafter's first row, *excess* the "
            "mean of 1 - p/q over 32 drafts where p < q; both follow from what the capture keeps. "
            "*Rejections* counts the drafts that were rejected. Without a tag all three are "
            "exactly zero, so the first two find every tag, true or false, however little it "
            "does; rejections find what matters."
        ),
        "",
        "| prompts | number | variation | excess | rejections | rejected drafts |",
        "|---|---|---|---|---|---|",
    ]
    for name, one in found.items():
        if name == "none":
            lines.append(f"| no tag | {one['prompts']} | - | - | - | {one['mean_rejected']:.4f} |")
            continue
        areas = " | ".join(f"{one[part]:.3f}" for part in ("variation", "excess", "rejected"))
        lines.append(f"| {name} | {one['prompts']} | {areas} | {one['mean_rejected']:.4f} |")
    return "\n".join(lines)


def _real(manifest: dict[str, Any]) -> str:
    real = manifest["real"]
    if real is None:
        return "Not measured: no data folder was given."
    lines = [
        (
            "Tagged origins only. CRPS with words over without: geometric mean over series, 90 % "
            "interval of months resampled jointly. Shifts are in the tag's direction, in sigma; "
            "the spread seen is the mean absolute z of tagged bars over that of all others. A tag "
            "is known before the open of the bar that is judged. A decision is published within "
            "its day's bar, so the first open that may see it is the next one; a notice would "
            "have told its date before."
        ),
        "",
        (
            "| tags | origins | CRPS, with over without | shift said | shift seen | spread said | "
            "spread seen |"
        ),
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {name} | {one['crps']['origins']} | {_said(one['crps'])} | {one['shift_said']:+.4f} | "
        f"{_said(one['shift_seen'])} | {one['spread_said']:.3f} | {_said(one['spread_seen'])} |"
        for name, one in real.items()
    ]
    return "\n".join(lines)


def _said(figure: dict[str, Any]) -> str:
    low, high = figure["interval_90"]
    return f"{figure['figure']:.4f} [{low:.4f}, {high:.4f}]"
