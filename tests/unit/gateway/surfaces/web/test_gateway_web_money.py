"""A currency's decimals come from one table, and money is text by them."""

from types import SimpleNamespace
from typing import cast

import pytest

from gateway.desk.officers.oversight.reviews import ReviewItem, ReviewLook
from gateway.surfaces.web.views import formats
from gateway.surfaces.web.views.oversight.reviews import review_cards
from risk.forms.money import minor_digits, money_text, rescaled

DIGITS = {"JPY": 0, "KRW": 0, "CLP": 0, "USD": 2, "GBP": 2, "KWD": 3, "TND": 3, "CLF": 4}


@pytest.mark.parametrize(("currency", "digits"), DIGITS.items())
def test_money_has_the_decimals_of_its_currency(currency: str, digits: int) -> None:
    assert minor_digits(currency) == digits
    whole, _, part = money_text(-123_456, digits).partition(".")
    assert (whole[0], len(part)) == ("-", digits)
    assert int(whole + part) == -123_456
    assert formats.money(123_456, currency).replace(",", "") == money_text(123_456, digits)
    assert rescaled(50_000_000, 2, digits) == 500_000 * 10**digits


def test_a_page_in_yen_shows_no_hundredths() -> None:
    assert formats.money(1_234_567, "JPY") == "1,234,567"
    assert formats.price(26_837, 10, "JPY") == "268,370"
    assert formats.signed_money(-5, "KWD") == "−0.005"


@pytest.mark.parametrize(
    ("unit", "said"), [((1, "USD"), "268.42 USD"), ((5, "JPY"), "134,210 JPY")]
)
def test_the_plot_of_a_review_has_the_decimals_of_its_currency(
    unit: tuple[int, str], said: str
) -> None:
    sheet = {"instrument": "AAA", "closes": [[0, 26_800], [86_400_000_000, 26_842]]}
    item = ReviewItem(decision_id="d-1", sheet=sheet, mine=None, model=None)
    looked = cast("ReviewLook", SimpleNamespace(seq=7))
    (card,) = review_cards(looked, (item,), lambda _: unit)
    assert f"the last at {said}" in str(card.plot)
