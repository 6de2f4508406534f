"""Figures as a terminal table and as one HTML file with plots; it loads nothing from outside."""

import html
import math
from collections.abc import Mapping
from typing import Any, Final

_HEAD: Final = (
    f"{'bars':7}{'h':>3}  {'against':10}{'series':>7}{'origins':>9}{'better':>8}"
    f"{'CRPS ratio':>12}{'90 % interval':>18}{'log score':>11}{'QLIKE':>9}"
)
_PLOT_WIDTH: Final = 520
_ROW: Final = 22
_LEFT: Final = 150
_STYLE: Final = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse}td,th{padding:.15rem .7rem;text-align:right}"
    "th{border-bottom:1px solid #888}svg text{font:12px system-ui,sans-serif}"
    ".note{background:#fff3d6;padding:.5rem 1rem}"
)

_READING: Final = (
    "CRPS ratio: below 1 the forecaster under test is better. The bar is the 90 % interval from "
    "months drawn jointly over all series."
)
_COLUMNS: Final = (
    "against",
    "series",
    "origins",
    "better on",
    "CRPS ratio",
    "90 %",
    "log score",
    "QLIKE",
    "joint tail loss",
)


def terminal(result: Mapping[str, Any]) -> str:
    """Return the figures as text of at most 100 columns."""
    lines = [*_notes(result), ""]
    for frequency, part in result["figures"].items():
        lines.append(_HEAD)
        for horizon, rivals in part["against"].items():
            lines += [_against(frequency, horizon, n, f) for n, f in rivals.items() if f["series"]]
        lines += ["", f"{frequency}: one bar ahead, each forecaster alone"]
        lines.append(
            f"  {'':10}{'50 %':>8}{'80 %':>8}{'90 %':>8}{'98 %':>8}{'PIT p':>8}"
            f"{'beyond VaR':>12}  rejected (Kupiec, Christoffersen, A.-S.)"
        )
        for name, alone in part["alone"]["1"].items():
            tails = part["tails"][name]
            inside = "".join(f"{alone['coverage'][c]:8.3f}" for c in ("50", "80", "90", "98"))
            rejected = list(tails.get("rejected_after_holm", {}).values())
            beyond = f"{tails['exceedances']:12.4f}" if tails["series"] else f"{'-':>12}"
            p = alone["pit"]["p"]
            shown = " ".join(map(str, rejected)) + f" of {tails['series']}" if rejected else "-"
            lines.append(f"  {name:10}{inside}{p:8.3f}{beyond}  {shown}")
        lines.append("")
    return "\n".join(lines)


def page(result: Mapping[str, Any]) -> str:
    """Return one HTML document with inline plots."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        f"<title>countersign evaluate</title><style>{_STYLE}</style>",
        "<h1>Forecasts judged</h1>",
        *(f"<p class=note>{html.escape(line)}</p>" for line in _notes(result)),
        f"<p>{_READING}</p>",
    ]
    for frequency, part in result["figures"].items():
        for horizon, rivals in part["against"].items():
            known = {n: f for n, f in rivals.items() if f["series"]}
            if known:
                parts.append(f"<h2>{html.escape(frequency)} bars, {horizon} ahead</h2>")
                parts += [_ratio_plot(known), _ratio_table(known)]
        parts.append(f"<h2>{html.escape(frequency)}: ranks of what came (PIT)</h2>")
        parts.append("<p>Flat is calibrated; high ends mean a forecast that is too narrow.</p>")
        parts += [_ranks_plot(n, a) for n, a in part["alone"]["1"].items()]
    return "\n".join(parts) + "\n"


def _notes(result: Mapping[str, Any]) -> list[str]:
    asked = result["asked"]
    first = (
        f"{asked['own']} of {asked['model_id'] or 'no pair'}, {asked['from']} to {asked['to']}, "
        f"{asked['series']} series, every {asked['every']} bars (h > 1: every "
        f"{asked['every'] * asked['sampled']}), seed {asked['seed']}; variance proxy: "
        f"{asked['proxy']}"
    )
    return [first, *result["notes"]]


def _interval(estimate: Mapping[str, Any]) -> str:
    ends = estimate["interval_90"]
    return "too few months" if ends is None else f"[{ends[0]:.4f}, {ends[1]:.4f}]"


def _against(frequency: str, horizon: str, name: str, found: Mapping[str, Any]) -> str:
    qlike = found.get("qlike_difference")
    last = f"{qlike['value']:+9.4f}" if qlike else f"{'-':>9}"
    better = f"{found['better_on']}/{found['series']}"
    return (
        f"{frequency:7}{horizon:>3}  {name:10}{found['series']:7}{found['origins']:9}{better:>8}"
        f"{found['crps_ratio']['value']:12.4f}{_interval(found['crps_ratio']):>18}"
        f"{found['log_score_difference']['value']:+11.4f}{last}"
    )


def _ratio_table(known: Mapping[str, Mapping[str, Any]]) -> str:
    rows = [f"<table><tr>{''.join(f'<th>{name}' for name in _COLUMNS)}</tr>"]
    for name, found in known.items():
        extra = [
            f"{found[key]['value']:+.4f} {_interval(found[key])}" if key in found else "-"
            for key in ("log_score_difference", "qlike_difference", "joint_tail_loss_difference")
        ]
        cells = (
            html.escape(name),
            found["series"],
            found["origins"],
            found["better_on"],
            f"{found['crps_ratio']['value']:.4f}",
            _interval(found["crps_ratio"]),
            *extra,
        )
        rows.append("<tr>" + "".join(f"<td>{cell}" for cell in cells) + "</tr>")
    return "\n".join([*rows, "</table>"])


def _ratio_plot(known: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a dot with its interval for each baseline, and a line at one."""
    figures = [found["crps_ratio"] for found in known.values()]
    ends = [v for f in figures for v in (f["interval_90"] or [f["value"]])]
    low, high = min([*ends, 0.98]), max([*ends, 1.02])

    def x(value: float) -> float:
        return _LEFT + (value - low) / (high - low) * (_PLOT_WIDTH - _LEFT - 20)

    marks = []
    for row, (name, found) in enumerate(known.items()):
        y, figure = 16 + row * _ROW, found["crps_ratio"]
        marks.append(f'<text x="0" y="{y + 4}">{html.escape(name)}</text>')
        if figure["interval_90"]:
            left, right = (x(v) for v in figure["interval_90"])
            marks.append(f'<path d="M{left:.1f} {y}H{right:.1f}" stroke="#446" stroke-width="3"/>')
        marks.append(f'<circle cx="{x(figure["value"]):.1f}" cy="{y}" r="5" fill="#224"/>')
    height = 16 + len(known) * _ROW
    marks.append(f'<path d="M{x(1.0):.1f} 0V{height}" stroke="#a33" stroke-dasharray="4"/>')
    return _svg(height, marks)


def _ranks_plot(name: str, alone: Mapping[str, Any]) -> str:
    counts = alone["pit"]["histogram"]
    top = max(*counts, 1)
    width = (_PLOT_WIDTH - _LEFT - 20) / len(counts)
    marks = [f'<text x="0" y="34">{html.escape(name)}</text>']
    for place, count in enumerate(counts):
        tall = 56.0 * count / top
        marks.append(
            f'<rect x="{_LEFT + place * width:.1f}" y="{60 - tall:.1f}" width="{width - 1:.1f}" '
            f'height="{tall:.1f}" fill="#668"/>'
        )
    level = 60.0 - 56.0 * math.fsum(counts) / len(counts) / top
    marks.append(f'<path d="M{_LEFT} {level:.1f}H{_PLOT_WIDTH}" stroke="#a33"/>')
    return _svg(64, marks)


def _svg(height: int, marks: list[str]) -> str:
    inside = "".join(marks)
    return f'<svg viewBox="0 0 {_PLOT_WIDTH} {height}" width="{_PLOT_WIDTH}">{inside}</svg>'
