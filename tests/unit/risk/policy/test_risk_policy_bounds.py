"""Each bound of a policy stands by itself, at its border."""

import pytest

from risk.errors import PolicyError
from tests.doubles.risk_cases import PLAYBACK, policy_with

SHARES = (
    "account__warn_at",
    "account__message_reserve",
    "account__drawdown_max",
    "account__day_loss_max",
    "sizing__risk_share",
    "classes__0__price_collar",
    "classes__0__directional_p_up_min",
)


@pytest.mark.parametrize("path", SHARES)
def test_a_share_is_at_most_the_whole(path: str) -> None:
    assert policy_with(**{path: 10_000}).name == PLAYBACK.name
    with pytest.raises(PolicyError, match="above 10,000 bp"):
        policy_with(**{path: 10_001})


def test_opposite_orders_cannot_both_have_support() -> None:
    assert policy_with(classes__0__directional_p_up_min=5_000).name == PLAYBACK.name
    with pytest.raises(PolicyError, match="below one half"):
        policy_with(classes__0__directional_p_up_min=4_999)


@pytest.mark.parametrize("path", ["account__message_rate", "sizing__steps_per_year"])
def test_a_rate_is_positive(path: str) -> None:
    burst = {"account__message_burst": 0}
    assert policy_with(**burst, **{path: 1}).name == PLAYBACK.name
    with pytest.raises(PolicyError, match="must be positive"):
        policy_with(**burst, **{path: 0})


def test_a_burst_is_at_most_a_minute_of_messages() -> None:
    rate = PLAYBACK.account.message_rate.value
    assert policy_with(account__message_burst=60 * rate).name == PLAYBACK.name
    with pytest.raises(PolicyError, match="exceeds what is remembered"):
        policy_with(account__message_burst=60 * rate + 1)
