"""Values to SVG text, on the server: fan chart, line plot, bars; no script, no style attribute.

Every plot has a title and a description for readers who do not see it. Colours come from classes in
`static/site.css`, and no meaning rests on colour alone. All text is escaped here.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDTH = 560
HEIGHT = 250
LEFT, RIGHT, TOP, BOTTOM = 64, 14, 12, 34


@dataclass(frozen=True, slots=True, kw_only=True)
class Caption:
    """A plot's title and description; `key` makes their ids unique on the page."""

    key: str
    title: str
    desc: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fan:
    """Quantiles of future prices against what happened.

    Attributes:
        past: closes up to the as-of line, oldest first.
        bands: pairs of quantile level in basis points and price per step, levels ascending.
        actual: closes after the as-of line, as far as they are known.
        labels: text under the first bar, the as-of line and the last step.
    """

    past: tuple[float, ...]
    bands: tuple[tuple[int, tuple[float, ...]], ...]
    actual: tuple[float, ...]
    labels: tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a plot; `style` picks a class (0, 1, 2) and with it a dash pattern."""

    name: str
    values: tuple[float | None, ...]
    style: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisScale:
    """A linear map from [low, high] to [start, stop] in SVG units."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """Return the place of `value`, rounded to a hundredth of a unit."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.stop - self.start), 2)


def fan_range(*fans: Fan) -> tuple[float, float]:
    """Return the price range that holds every fan, so that twins share an axis."""
    values = [
        v for f in fans for v in (*f.past, *f.actual, *(x for _, band in f.bands for x in band))
    ]
    return _padded(values)


def fan_chart(fan: Fan, caption: Caption, limits: tuple[float, float]) -> Markup:
    """Draw the fan: outer and inner band, median, past and later closes, as-of line.

    The price axis spans `limits`, from `fan_range`.
    """
    steps = max((len(band) for _, band in fan.bands), default=0)
    now = len(fan.past) - 1
    x = AxisScale(low=0, high=max(1, now + steps), start=LEFT, stop=WIDTH - RIGHT)
    y = AxisScale(low=limits[0], high=limits[1], start=HEIGHT - BOTTOM, stop=TOP)

    def ahead(values: Sequence[float]) -> list[tuple[float, float]]:
        return [anchor, *((x(now + 1 + i), y(v)) for i, v in enumerate(values))]

    anchor = (x(now), y(fan.past[-1]))
    bands = [values for _, values in fan.bands]
    parts = [_grid(y, limits)]
    for depth in range(len(bands) // 2):
        corners = _points([*ahead(bands[depth]), *reversed(ahead(bands[-1 - depth]))])
        parts.append(f'<polygon class="band band-{min(depth, 1)}" points="{corners}"/>')
    if len(bands) % 2:
        parts.append(_polyline("median", ahead(bands[len(bands) // 2])))
    parts.append(_polyline("past", [(x(i), y(v)) for i, v in enumerate(fan.past)]))
    if fan.actual:
        after = ahead(fan.actual)
        parts.append(_polyline("actual", after))
        parts += [f'<circle class="actual-dot" cx="{a}" cy="{b}" r="2.6"/>' for a, b in after[1:]]
    parts.append(_rule("asof", (anchor[0], TOP), (anchor[0], HEIGHT - BOTTOM)))
    places = ((LEFT, "start"), (anchor[0], "middle"), (WIDTH - RIGHT, "end"))
    for label, (place, side) in zip(fan.labels, places, strict=True):
        parts.append(_text(place, HEIGHT - 10, label, side))
    return _svg("".join(parts), caption)


def line_plot(
    lines: Sequence[Line],
    caption: Caption,
    *,
    labels: tuple[str, str],
    suffix: str = "",
    steps: bool = False,
    zero: bool = True,
) -> Markup:
    """Draw lines over the same equidistant points.

    `labels` are the texts under the first and the last point, `suffix` the unit of the axis.
    `steps` draws levels that hold until the next point; `zero` keeps zero in range and marks it.
    """
    count = max((len(line.values) for line in lines), default=0)
    values = [v for line in lines for v in line.values if v is not None]
    limits = _padded([0.0, *values] if zero else values)
    x = AxisScale(low=0, high=max(1, count - 1), start=LEFT, stop=WIDTH - RIGHT)
    y = AxisScale(low=limits[0], high=limits[1], start=HEIGHT - BOTTOM, stop=TOP)
    parts = [_grid(y, limits, suffix)]
    if zero:
        parts.append(_rule("zero", (LEFT, y(0)), (WIDTH - RIGHT, y(0))))
    for line in lines:
        for run in _runs(line.values):
            spots = [(x(i), y(v)) for i, v in run]
            drawn = _stairs(spots) if steps else spots
            parts.append(_polyline(f"line line-{line.style % 3}", drawn))
    parts.append(_text(LEFT, HEIGHT - 10, labels[0], "start"))
    parts.append(_text(WIDTH - RIGHT, HEIGHT - 10, labels[1], "end"))
    return _svg("".join(parts), caption)


def _svg(body: str, caption: Caption, size: tuple[int, int] = (WIDTH, HEIGHT)) -> Markup:
    key = escape(caption.key)
    return Markup(  # noqa: S704 - body is built above from numbers and escaped text
        f'<svg class="plot" viewBox="0 0 {size[0]} {size[1]}" role="img"'
        f' aria-labelledby="{key}-title {key}-desc">'
        f'<title id="{key}-title">{escape(caption.title)}</title>'
        f'<desc id="{key}-desc">{escape(caption.desc)}</desc>{body}</svg>'
    )


def _grid(y: AxisScale, limits: tuple[float, float], suffix: str = "") -> str:
    parts = []
    for value in _ticks(*limits):
        at = y(value)
        parts.append(_rule("grid", (LEFT, at), (WIDTH - RIGHT, at)))
        parts.append(_text(LEFT - 6, at + 4.5, f"{value:,.{_digits(limits)}f}{suffix}", "end"))
    return "".join(parts)


def _rule(name: str, start: tuple[float, float], stop: tuple[float, float]) -> str:
    return (
        f'<line class="{name}" x1="{start[0]:g}" y1="{start[1]:g}"'
        f' x2="{stop[0]:g}" y2="{stop[1]:g}"/>'
    )


def _text(x: float, y: float, text: str, side: str) -> str:
    return f'<text class="tick" x="{x:g}" y="{y:g}" text-anchor="{side}">{escape(text)}</text>'


def _polyline(name: str, spots: Sequence[tuple[float, float]]) -> str:
    return f'<polyline class="{name}" points="{_points(spots)}"/>'


def _ticks(low: float, high: float) -> list[float]:
    """Return three to seven round values inside the range."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= rough)
    first = math.ceil(low / step)
    return [n * step for n in range(first, math.floor(high / step) + 1)]


def _digits(limits: tuple[float, float]) -> int:
    span = limits[1] - limits[0]
    return max(0, min(6, 1 - math.floor(math.log10(span)))) if span < 20 else 0  # noqa: PLR2004 - at 20 and more a whole number tells ticks apart


def _padded(values: Sequence[float]) -> tuple[float, float]:
    finite = [v for v in values if math.isfinite(v)]
    if not finite:
        return (0.0, 1.0)
    low, high = min(finite), max(finite)
    pad = (high - low) * 0.06 or max(abs(high) * 0.01, 1.0)
    return (low - pad, high + pad)


def _runs(values: Sequence[float | None]) -> list[list[tuple[int, float]]]:
    runs: list[list[tuple[int, float]]] = [[]]
    for i, value in enumerate(values):
        if value is None:
            runs.append([])
        else:
            runs[-1].append((i, value))
    return [run for run in runs if run]


def _stairs(spots: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    drawn = [spots[0]]
    for (_, before), (across, level) in itertools.pairwise(spots):
        drawn.extend([(across, before), (across, level)])
    return drawn


def _points(spots: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{a:g},{b:g}" for a, b in spots)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotBar:
    """One bar with its name above it; a flagged one also says so in words."""

    name: str
    value: int
    said: str
    flagged: bool


def bar_chart(
    bars: Sequence[PlotBar], caption: Caption, limit: int, named: str = "the limit"
) -> Markup:
    """Draw horizontal bars from zero and a line at `limit`; narrow, for small screens too."""
    row, wide = 44, 340
    height = row * len(bars) + 22
    x = AxisScale(low=0, high=max(limit, *(bar.value for bar in bars)) or 1, start=8, stop=wide - 8)
    parts = []
    for number, bar in enumerate(bars):
        top, name = row * number + 6, f"bar-flagged{'' if bar.flagged else '-not'}"
        said = f"{bar.name}: {bar.said}{', flagged' if bar.flagged else ''}"
        parts.append(_text(8, top + 14, said, "start"))
        parts.append(
            f'<rect class="{name}" x="8" y="{top + 20:g}" width="{x(bar.value) - 8:g}"'
            ' height="12" rx="2"/>'
        )
    parts.append(_rule("asof", (x(limit), 4), (x(limit), height - 18)))
    parts.append(_text(wide - 8, height - 4, f"dashed line: {named}", "end"))
    return _svg("".join(parts), caption, (wide, height))
