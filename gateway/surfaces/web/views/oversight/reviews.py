"""Blind reviews as page values: the samples, and one of them with a plot of closes per decision.

Not here: what a reviewer may see (`gateway.desk.officers.oversight.reviews`).
"""

from collections.abc import Callable
from dataclasses import dataclass

from markupsafe import Markup

from gateway.desk.officers.oversight.reviews import ReviewItem, ReviewLook
from gateway.surfaces.web.views.formats import day, price
from gateway.surfaces.web.views.plots import Caption, Line, line_plot
from risk.forms.money import minor_digits


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewCard:
    """One decision of a sample with the plot of its closes, and where its form posts to."""

    item: ReviewItem
    plot: Markup | None
    address: str


def review_cards(
    looked: ReviewLook, items: tuple[ReviewItem, ...], unit_of: Callable[[str], tuple[int, str]]
) -> tuple[ReviewCard, ...]:
    """Return the cards of a sample.

    `unit_of` returns an instrument's price step in minor units, and its currency.
    """
    return tuple(
        ReviewCard(
            item=item,
            plot=_plot(item, *unit_of(item.sheet.get("instrument", ""))),
            address=f"/reviews/{looked.seq}/{item.decision_id}",
        )
        for item in items
    )


def _plot(item: ReviewItem, tick_minor: int, currency: str) -> Markup | None:
    closes = item.sheet.get("closes", [])
    if not closes:
        return None
    first, last, unit = closes[0], closes[-1], 10 ** minor_digits(currency)
    newest = f"{price(last[1], tick_minor, currency)} {currency}"
    return line_plot(
        (Line(name="close", values=tuple(ticks * tick_minor / unit for _, ticks in closes)),),
        Caption(
            key=f"closes-{item.decision_id}",
            title=f"Closes of {item.sheet['instrument']} before decision {item.decision_id}",
            desc=f"{len(closes)} closes, the last at {newest}",
        ),
        labels=(day(first[0]), day(last[0])),
        zero=False,
    )
