"""A snapshot cannot know the future, and its document is exact."""

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest

from inference.errors import SnapshotError
from inference.snapshot import Bar, Snapshot, snapshot_document, snapshot_from_document
from tests.doubles.market_cases import DAY_US, news_at, snapshot_of, walk_closes


def test_news_published_after_as_of_is_refused() -> None:
    snapshot = snapshot_of(walk_closes(3))
    late = news_at(snapshot.as_of_us + 1)
    with pytest.raises(SnapshotError, match="news up to"):
        dataclasses.replace(snapshot, news=(late,))


def test_news_published_at_as_of_is_known() -> None:
    snapshot = snapshot_of(walk_closes(3))
    item = news_at(snapshot.as_of_us)
    assert dataclasses.replace(snapshot, news=(item,)).news == (item,)


def test_a_bar_after_as_of_is_refused() -> None:
    snapshot = snapshot_of(walk_closes(3))
    with pytest.raises(SnapshotError, match="bars up to"):
        dataclasses.replace(snapshot, as_of_us=snapshot.as_of_us - 1)


@pytest.mark.parametrize("order", [(0, 0), (1, 0)])
def test_bars_that_do_not_ascend_are_refused(order: tuple[int, int]) -> None:
    snapshot = snapshot_of(walk_closes(2))
    bars = tuple(snapshot.bars[index] for index in order)
    with pytest.raises(SnapshotError, match="closing after"):
        dataclasses.replace(snapshot, bars=bars, as_of_us=snapshot.as_of_us + DAY_US)


def test_a_snapshot_without_bars_is_refused() -> None:
    with pytest.raises(SnapshotError, match="at least one bar"):
        dataclasses.replace(snapshot_of(walk_closes(2)), bars=())


@pytest.mark.parametrize(
    "prices",
    [
        {"low_ticks": 0},
        {"low_ticks": -3},
        {"high_ticks": 99},
        {"open_ticks": 111},
        {"close_ticks": 89},
        {"high_ticks": 2**53},
    ],
)
def test_a_bar_with_impossible_prices_is_refused(prices: dict[str, int]) -> None:
    good = {"open_ticks": 100, "high_ticks": 110, "low_ticks": 90, "close_ticks": 105}
    assert Bar(close_time_us=1, **good).close_ticks == 105
    with pytest.raises(SnapshotError):
        Bar(close_time_us=1, **{**good, **prices})


def test_the_document_survives_json_and_gives_the_same_snapshot() -> None:
    closes = walk_closes(60)
    item = news_at(snapshot_of(closes).as_of_us - 5)
    snapshot = snapshot_of(closes, [item])
    text = json.dumps(snapshot_document(snapshot))
    assert snapshot_from_document(json.loads(text)) == snapshot


def _without_bars(document: dict[str, Any]) -> None:
    del document["bars"]


def _float_price(document: dict[str, Any]) -> None:
    document["bars"][0][4] = 1.5


def _boolean_time(document: dict[str, Any]) -> None:
    document["as_of_us"] = True


def _short_bar(document: dict[str, Any]) -> None:
    document["bars"][0].pop()


def _unknown_class(document: dict[str, Any]) -> None:
    document["asset_class"] = "tulips"


def _future(document: dict[str, Any]) -> None:
    document["as_of_us"] -= 1


@pytest.mark.parametrize(
    "spoil", [_without_bars, _float_price, _boolean_time, _short_bar, _unknown_class, _future]
)
def test_a_spoiled_document_is_refused_with_the_packages_own_error(
    spoil: Callable[[dict[str, Any]], None],
) -> None:
    document = snapshot_document(snapshot_of(walk_closes(3)))
    spoil(document)
    with pytest.raises(SnapshotError):
        snapshot_from_document(document)


def test_the_document_carries_no_float() -> None:
    snapshot: Snapshot = snapshot_of(walk_closes(4), [])

    def refuse(text: str) -> float:
        raise AssertionError(text)

    json.loads(json.dumps(snapshot_document(snapshot)), parse_float=refuse)
